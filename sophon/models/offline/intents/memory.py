"""Memory intents: store a statement, search for an answer about the user, find and delete an entry."""

import re

from sophon.memory.full_text_scan import tokenize
from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import (
    capitalise,
    ensure_full_stop,
    extract_content_words,
    strip_quotes,
    to_second_person,
)
from sophon.models.offline.memory_result_parser import MemoryHit, parse_memory_hits
from sophon.tools.tool import Risk

_STORE = re.compile(
    r"(?:remember|note(?: down)?|memori[sz]e|write down|jot down|keep in mind|make a note|take a note|don['’]t forget)"
    r"\b(?: (?:in|to) (?:your |my |the )?(?:memory|notes)\b)?(?: for (?:me|later)\b)?[,:]?"
    r"(?: (?:that|this|the following|of the fact that)\b[,:]?)? (?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_STORE_IN_MEMORY = re.compile(
    r"(?:save|store|put|write|add) (?:that )?(?P<text>.+) (?:in|into|to) (?:your |my |the )?(?:memory|notes)",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = re.compile(r"(?:what|who|where|when|why|how|which|whether|if)\b", re.IGNORECASE)
_RECALL = re.compile(
    r"(?:(?:what|which things?|everything|all)(?: things)? (?:do|did|can|have) you "
    r"(?:know|remember|recall|stored?|noted?|saved?|kept)"
    r"|(?:look up|find(?: out)?|recall|search(?: for)?|check|tell me|show me|remember)(?: what| everything| all)?"
    r"(?: that)? you (?:know|remember|noted|stored)|do you (?:still )?(?:know|remember)|look up|recall|search for"
    r"|what is known|remind me"
    r"|(?:search|look in|look through|look into|check|go through) (?:your |the |my )?(?:memory|memories|notes)"
    r"|tell me|who (?:is|was)|what can you tell me)"
    r"(?: (?:about|of|on|for|regarding|to))?(?P<topic> .+|\W*$)",
    re.IGNORECASE | re.DOTALL,
)
_TELL_ME_OTHER = re.compile(
    r"tell me (?!(?:something |everything |all )?(?:about|what|who|where|when|how|my|the name))", re.IGNORECASE
)
_QUESTION_ABOUT_USER = re.compile(
    r"(?:what|which|who|whose|where|when|how)\b.*\b(?:my|i|me|our|mine|we)\b", re.IGNORECASE | re.DOTALL
)
_FORGET = re.compile(
    r"(?:please )?(?:forget|(?:delete|remove|erase) (?:the |my )?(?:memory|memories|note|notes|entry))"
    r"(?: (?:that|about|of|on|what (?:you know|i (?:said|told you)) about))*(?P<topic> .+)",
    re.IGNORECASE | re.DOTALL,
)
_PREFERENCE = re.compile(
    r"\bI (?:really |do not |don['’]t )?(?:like|love|prefer|hate|dislike|enjoy)\b|\bfavou?rite\b", re.IGNORECASE
)


def _match_store(intent_input: IntentInput) -> PlannedCall | None:
    stored = _STORE_IN_MEMORY.fullmatch(intent_input.clause.rstrip(".!")) or _STORE.fullmatch(intent_input.clause)
    if stored is None or intent_input.clause.endswith("?") or _QUESTION.match(stored["text"]):
        return None
    text = strip_quotes(stored["text"].rstrip(".!"))
    if text.lower() in ("that", "this", "it"):
        text = intent_input.previous_results
    elif text.lower().startswith("to ") and intent_input.clause.lower().startswith("remember"):
        text = "to do: " + text[3:]
    if not text.strip():
        return None
    return PlannedCall(
        "memory.write", {"text": capitalise(text), "category": "preference" if _PREFERENCE.search(text) else "fact"}
    )


def _describe_stored(result: CallResult) -> str:
    return ensure_full_stop(f"I wrote down: {to_second_person(_stored_text(result.call))}")


def _match_recall(intent_input: IntentInput) -> PlannedCall | None:
    clause = intent_input.clause.rstrip("?.! ")
    recall = None if _TELL_ME_OTHER.match(clause) else _RECALL.match(clause)
    if recall is not None:
        return PlannedCall("memory.search", {"query": _to_query(recall["topic"])})
    if _QUESTION_ABOUT_USER.match(clause) and (intent_input.clause.endswith("?") or len(clause) < 120):
        return PlannedCall("memory.search", {"query": _to_query(clause)})
    return None


def _describe_recalled(result: CallResult) -> str:
    found = filter_matching_hits(result)
    if not found:
        return f"My memory has nothing about {_query_of(result)}."
    if len(found) == 1:
        return ensure_full_stop(f"From my memory: {to_second_person(found[0].text)}")
    lines = "\n".join(f"- {ensure_full_stop(to_second_person(entry.text))}" for entry in found)
    return f"From my memory, about {_query_of(result)}:\n{lines}"


def filter_matching_hits(result: CallResult) -> list[MemoryHit]:
    """Return the entries that contain every word of the query; all entries if none does."""
    found = parse_memory_hits(result.text)
    query_words = set(tokenize(str(result.call.arguments.get("query", ""))))
    return [entry for entry in found if query_words <= set(tokenize(entry.text))] or found


def _match_forget(intent_input: IntentInput) -> PlannedCall | None:
    forget = _FORGET.fullmatch(intent_input.clause.rstrip("?.! "))
    if forget is None or intent_input.clause.lower().startswith("forget it"):
        return None
    return PlannedCall("memory.search", {"query": _to_query(forget["topic"])})


def follow_up_delete(result: CallResult) -> PlannedCall | None:
    """Return the call that forgets the entry that was found, or None."""
    entry = _best_entry(result)
    return PlannedCall("memory.forget", {"id": entry.id}) if entry and entry.id else None


def _describe_not_found(result: CallResult) -> str:
    return f"There is nothing to forget: my memory has nothing that matches {_query_of(result)}."


def _describe_deleted(result: CallResult) -> str:
    return "I have forgotten it."


def _best_entry(result: CallResult) -> MemoryHit | None:
    """Return the entry with most words of the query; None below half of them, so that no other entry is deleted."""
    query_words = set(tokenize(str(result.call.arguments["query"])))
    scored = [(len(query_words & set(tokenize(entry.text))), entry) for entry in parse_memory_hits(result.text)]
    hits, entry = max(scored, key=lambda pair: pair[0], default=(0, None))
    return entry if hits * 2 >= len(query_words) and hits else None


def _to_query(topic: str) -> str:
    """Return the content words as a query; an empty one requests the newest entries."""
    return " ".join(extract_content_words(topic))


def _query_of(result: CallResult) -> str:
    return str(result.call.arguments.get("query", "")) or "you"


def _stored_text(call: PlannedCall) -> str:
    return str(call.arguments.get("text", ""))


REMEMBER = Intent(
    tool="memory.write",
    group="memory",
    match_clause=_match_store,
    describe_result=_describe_stored,
    describe_call=lambda call: f"write down “{_stored_text(call)}”",
    risk=Risk.MEDIUM,
    resource="memory",
    is_writer=True,
)
RECALL = Intent(
    tool="memory.search",
    group="memory",
    match_clause=_match_recall,
    describe_result=_describe_recalled,
    describe_call=lambda call: f"search my memory for “{call.arguments.get('query', '')}”",
    risk=Risk.NONE,
    resource="memory",
)
FIND_ENTRY_TO_FORGET = Intent(
    tool="memory.search",
    group="memory",
    match_clause=_match_forget,
    describe_result=_describe_not_found,
    describe_call=lambda call: f"find “{call.arguments.get('query', '')}” in my memory",
    risk=Risk.NONE,
    resource="memory",
    is_writer=True,
    follow_up=follow_up_delete,
    follow_up_tool="memory.forget",
)
FORGET_ENTRY = Intent(
    tool="memory.forget",
    group="memory",
    match_clause=lambda _: None,
    describe_result=_describe_deleted,
    describe_call=lambda call: f"forget entry {call.arguments.get('id', '')}",
    risk=Risk.HIGH,
    resource="memory",
    is_writer=True,
)
