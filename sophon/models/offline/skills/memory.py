"""Memory intents: store a statement, search for an answer about the user, find and delete an entry."""

import re

from sophon.memory.search import folded_words
from sophon.models.offline.entries import Entry, entries
from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.words import capitalised, content_words, ended, to_you, unquoted
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


def _match_store(intent_input: Ask) -> Wish | None:
    stored = _STORE_IN_MEMORY.fullmatch(intent_input.clause.rstrip(".!")) or _STORE.fullmatch(intent_input.clause)
    if stored is None or intent_input.clause.endswith("?") or _QUESTION.match(stored["text"]):
        return None
    text = unquoted(stored["text"].rstrip(".!"))
    if text.lower() in ("that", "this", "it"):
        text = intent_input.material
    elif text.lower().startswith("to ") and intent_input.clause.lower().startswith("remember"):
        text = "to do: " + text[3:]
    if not text.strip():
        return None
    return Wish(
        "memory.write", {"text": capitalised(text), "category": "preference" if _PREFERENCE.search(text) else "fact"}
    )


def _describe_stored(result: Finding) -> str:
    return ended(f"I wrote down: {to_you(_stored_text(result.wish))}")


def _match_recall(intent_input: Ask) -> Wish | None:
    clause = intent_input.clause.rstrip("?.! ")
    recall = None if _TELL_ME_OTHER.match(clause) else _RECALL.match(clause)
    if recall is not None:
        return Wish("memory.search", {"query": _to_query(recall["topic"])})
    if _QUESTION_ABOUT_USER.match(clause) and (intent_input.clause.endswith("?") or len(clause) < 120):
        return Wish("memory.search", {"query": _to_query(clause)})
    return None


def _describe_recalled(result: Finding) -> str:
    found = fitting(result)
    if not found:
        return f"My memory has nothing about {_query_of(result)}."
    if len(found) == 1:
        return ended(f"From my memory: {to_you(found[0].text)}")
    lines = "\n".join(f"- {ended(to_you(entry.text))}" for entry in found)
    return f"From my memory, about {_query_of(result)}:\n{lines}"


def fitting(result: Finding) -> list[Entry]:
    """Return the entries that contain every word of the query; all entries if none does."""
    found = entries(result.text)
    query_words = set(folded_words(str(result.wish.arguments.get("query", ""))))
    return [entry for entry in found if query_words <= set(folded_words(entry.text))] or found


def _match_forget(intent_input: Ask) -> Wish | None:
    forget = _FORGET.fullmatch(intent_input.clause.rstrip("?.! "))
    if forget is None or intent_input.clause.lower().startswith("forget it"):
        return None
    return Wish("memory.search", {"query": _to_query(forget["topic"])})


def _follow_up_delete(result: Finding) -> Wish | None:
    entry = _best_entry(result)
    return Wish("memory.forget", {"id": entry.id}) if entry and entry.id else None


def _describe_not_found(result: Finding) -> str:
    return f"There is nothing to forget: my memory has nothing that matches {_query_of(result)}."


def _describe_deleted(result: Finding) -> str:
    text = result.text.strip().removeprefix("Forgotten:").strip()
    return ended(f"I have forgotten this: {to_you(text)}")


def _best_entry(result: Finding) -> Entry | None:
    """Return the entry with most words of the query; None below half of them, so that no other entry is deleted."""
    query_words = set(folded_words(str(result.wish.arguments["query"])))
    scored = [(len(query_words & set(folded_words(entry.text))), entry) for entry in entries(result.text)]
    hits, entry = max(scored, key=lambda pair: pair[0], default=(0, None))
    return entry if hits * 2 >= len(query_words) and hits else None


def _to_query(topic: str) -> str:
    """Return the content words as a query; an empty one requests the newest entries."""
    return " ".join(content_words(topic))


def _query_of(result: Finding) -> str:
    return str(result.wish.arguments.get("query", "")) or "you"


def _stored_text(call: Wish) -> str:
    return str(call.arguments.get("text", ""))


REMEMBER = Skill(
    tool="memory.write",
    group="memory",
    match=_match_store,
    tell=_describe_stored,
    deed=lambda call: f"write down “{_stored_text(call)}”",
    risk=Risk.MEDIUM,
    store="memory",
    writes=True,
)
RECALL = Skill(
    tool="memory.search",
    group="memory",
    match=_match_recall,
    tell=_describe_recalled,
    deed=lambda call: f"search my memory for “{call.arguments.get('query', '')}”",
    risk=Risk.NONE,
    store="memory",
)
FORGET = Skill(
    tool="memory.search",
    group="memory",
    match=_match_forget,
    tell=_describe_not_found,
    deed=lambda call: f"find “{call.arguments.get('query', '')}” in my memory",
    risk=Risk.NONE,
    store="memory",
    writes=True,
    after=_follow_up_delete,
    leads_to="memory.forget",
)
FORGOTTEN = Skill(
    tool="memory.forget",
    group="memory",
    match=lambda _: None,
    tell=_describe_deleted,
    deed=lambda call: f"forget entry {call.arguments.get('id', '')}",
    risk=Risk.HIGH,
    store="memory",
    writes=True,
)
