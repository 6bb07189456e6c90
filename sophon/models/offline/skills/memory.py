"""Memory: writes down what it is told to remember, searches before it answers about the person, forgets on demand."""

import re

from sophon.memory.search import folded_words
from sophon.models.offline.entries import Entry, entries
from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.words import capitalised, content_words, ended, to_you, unquoted
from sophon.tools.tool import Risk

_KEEP = re.compile(
    r"(?:remember|note(?: down)?|memori[sz]e|write down|jot down|keep in mind|make a note|take a note|don['’]t forget)"
    r"\b(?: (?:in|to) (?:your |my |the )?(?:memory|notes)\b)?(?: for (?:me|later)\b)?[,:]?"
    r"(?: (?:that|this|the following|of the fact that)\b[,:]?)? (?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_KEEP_IN = re.compile(
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
_TELL_ME = re.compile(
    r"tell me (?!(?:something |everything |all )?(?:about|what|who|where|when|how|my|the name))", re.IGNORECASE
)
_MINE = re.compile(r"(?:what|which|who|whose|where|when|how)\b.*\b(?:my|i|me|our|mine|we)\b", re.IGNORECASE | re.DOTALL)
_FORGET = re.compile(
    r"(?:please )?(?:forget|(?:delete|remove|erase) (?:the |my )?(?:memory|memories|note|notes|entry))"
    r"(?: (?:that|about|of|on|what (?:you know|i (?:said|told you)) about))*(?P<topic> .+)",
    re.IGNORECASE | re.DOTALL,
)
_LIKES = re.compile(
    r"\bI (?:really |do not |don['’]t )?(?:like|love|prefer|hate|dislike|enjoy)\b|\bfavou?rite\b", re.IGNORECASE
)


def _match_keep(ask: Ask) -> Wish | None:
    kept = _KEEP_IN.fullmatch(ask.clause.rstrip(".!")) or _KEEP.fullmatch(ask.clause)
    if kept is None or ask.clause.endswith("?") or _QUESTION.match(kept["text"]):
        return None
    text = unquoted(kept["text"].rstrip(".!"))
    if text.lower() in ("that", "this", "it"):
        text = ask.material
    elif text.lower().startswith("to ") and ask.clause.lower().startswith("remember"):
        text = "to do: " + text[3:]
    if not text.strip():
        return None
    return Wish(
        "memory.write", {"text": capitalised(text), "category": "preference" if _LIKES.search(text) else "fact"}
    )


def _tell_kept(finding: Finding) -> str:
    return ended(f"I wrote down: {to_you(_kept(finding.wish))}")


def _match_recall(ask: Ask) -> Wish | None:
    clause = ask.clause.rstrip("?.! ")
    recall = None if _TELL_ME.match(clause) else _RECALL.match(clause)
    if recall is not None:
        return Wish("memory.search", {"query": _query(recall["topic"])})
    if _MINE.match(clause) and (ask.clause.endswith("?") or len(clause) < 120):
        return Wish("memory.search", {"query": _query(clause)})
    return None


def _tell_recalled(finding: Finding) -> str:
    found = fitting(finding)
    if not found:
        return f"My memory has nothing about {_topic(finding)}."
    if len(found) == 1:
        return ended(f"From my memory: {to_you(found[0].text)}")
    lines = "\n".join(f"- {ended(to_you(entry.text))}" for entry in found)
    return f"From my memory, about {_topic(finding)}:\n{lines}"


def fitting(finding: Finding) -> list[Entry]:
    """The entries that were found; only those with every word of the query, where there are such."""
    found = entries(finding.text)
    wanted = set(folded_words(str(finding.wish.arguments.get("query", ""))))
    return [entry for entry in found if wanted <= set(folded_words(entry.text))] or found


def _match_forget(ask: Ask) -> Wish | None:
    forget = _FORGET.fullmatch(ask.clause.rstrip("?.! "))
    if forget is None or ask.clause.lower().startswith("forget it"):
        return None
    return Wish("memory.search", {"query": _query(forget["topic"])})


def _forget_found(finding: Finding) -> Wish | None:
    entry = _meant(finding)
    return Wish("memory.forget", {"id": entry.id}) if entry and entry.id else None


def _tell_not_forgotten(finding: Finding) -> str:
    return f"There is nothing to forget: my memory has nothing that matches {_topic(finding)}."


def _tell_forgotten(finding: Finding) -> str:
    text = finding.text.strip().removeprefix("Forgotten:").strip()
    return ended(f"I have forgotten this: {to_you(text)}")


def _meant(finding: Finding) -> Entry | None:
    """The entry with most of the words; None if it has fewer than half of them, so that nothing else is lost."""
    wanted = set(folded_words(str(finding.wish.arguments["query"])))
    scored = [(len(wanted & set(folded_words(entry.text))), entry) for entry in entries(finding.text)]
    hits, entry = max(scored, key=lambda pair: pair[0], default=(0, None))
    return entry if hits * 2 >= len(wanted) and hits else None


def _query(topic: str) -> str:
    """The words that carry meaning; none of them asks for the newest entries."""
    return " ".join(content_words(topic))


def _topic(finding: Finding) -> str:
    return str(finding.wish.arguments.get("query", "")) or "you"


def _kept(wish: Wish) -> str:
    return str(wish.arguments.get("text", ""))


REMEMBER = Skill(
    tool="memory.write",
    group="memory",
    match=_match_keep,
    tell=_tell_kept,
    deed=lambda wish: f"write down “{_kept(wish)}”",
    risk=Risk.MEDIUM,
    store="memory",
    writes=True,
)
RECALL = Skill(
    tool="memory.search",
    group="memory",
    match=_match_recall,
    tell=_tell_recalled,
    deed=lambda wish: f"search my memory for “{wish.arguments.get('query', '')}”",
    risk=Risk.NONE,
    store="memory",
)
FORGET = Skill(
    tool="memory.search",
    group="memory",
    match=_match_forget,
    tell=_tell_not_forgotten,
    deed=lambda wish: f"find “{wish.arguments.get('query', '')}” in my memory",
    risk=Risk.NONE,
    store="memory",
    writes=True,
    after=_forget_found,
    leads_to="memory.forget",
)
FORGOTTEN = Skill(
    tool="memory.forget",
    group="memory",
    match=lambda _: None,
    tell=_tell_forgotten,
    deed=lambda wish: f"forget entry {wish.arguments.get('id', '')}",
    risk=Risk.HIGH,
    store="memory",
    writes=True,
)
