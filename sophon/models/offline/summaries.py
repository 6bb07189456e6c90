"""Summaries by extraction: the sentences with the most frequent content words, in their own order, nothing made up."""

import re
from collections import Counter
from collections.abc import Sequence

from sophon.messages import Message
from sophon.models.offline.words import capitalised, content_words, ended, sentences

TITLE_WORDS = 6
LONGEST_SUMMARY = 2000
"""Characters of a compaction."""

_SHORTEST_SHARE = 60
_LONGEST_SHARE = 240
_MOST_SENTENCES = 400
"""Sentences that are weighed at all."""
_USUAL = 3
_PREFIX = re.compile(r"\W*(?:please|can you|could you|hey|hi|hello|first(?:ly)?)\b[,!:]? ", re.IGNORECASE)
_INSTRUCTION = re.compile(r"\W*(?:please )?(?:summari[sz]e|compress|condense|write a summary)\b", re.IGNORECASE)
_ELEMENT = re.compile(r'<message role="(\w{1,20})">\n(.*?)\n</message>', re.DOTALL)
_COUNT = re.compile(
    r"\b(?:in|as|with|into) (?:at most |exactly |about )?(?P<count>\d{1,2}|one|two|three|four|five|six|seven"
    r"|eight|nine|ten) (?:short |brief |simple )?"
    r"(?P<unit>steps?|points?|bullets?|bullet points?|sentences?|lines?|parts?|items?)\b",
    re.IGNORECASE,
)
_ONE_TO_TEN = "one two three four five six seven eight nine ten"
_NUMBERS = {word: n for n, word in enumerate(_ONE_TO_TEN.split(), 1)}


def key_sentences(text: str, count: int) -> list[str]:
    """Up to `count` sentences of a text, those that say most of what it is about."""
    parts = list(dict.fromkeys(sentences(text)))[:_MOST_SENTENCES]
    if len(parts) <= count:
        return parts
    words = [content_words(part) for part in parts]
    weight = Counter(word for part in words for word in part)
    scores = [sum(weight[word] for word in part) / (len(part) + 1) ** 0.5 for part in words]
    best = sorted(range(len(parts)), key=lambda at: (-scores[at], at))[:count]
    return [parts[at] for at in sorted(best)]


def summary(texts: Sequence[str], clause: str) -> str:
    """The texts in as many steps or sentences as the clause asks for, three if it does not say.

    With less to say than was asked for, it says so instead of inventing something.
    """
    asked = _COUNT.search(clause)
    count = _number(asked["count"]) if asked else _USUAL
    chosen = key_sentences("\n".join(texts), max(count, 1))
    if asked is None or asked["unit"].lower().startswith("sentence"):
        return " ".join(ended(capitalised(part)) for part in chosen)
    if len(chosen) < count:
        whole = {1: "the one result", 2: "both results"}.get(len(texts), f"all {len(texts)} results")
        chosen.append(f"That covers {whole}; there is nothing more to sum up")
    return "\n".join(f"{at}. {ended(capitalised(part.lstrip('- ')))}" for at, part in enumerate(chosen, 1))


def compacted(messages: Sequence[Message], most: int = LONGEST_SUMMARY) -> str:
    """A conversation in short, at most half as long: who said what, a line per message; of too many, the person's.

    The messages stand by themselves or as `<message role="...">` elements in one of them.
    """
    told = [m for m in _unpacked(messages) if sentences(m[1])]
    if not told:
        return "Nothing has been said."
    most = min(most, max(sum(len(text) for _, text in told) // 2, _SHORTEST_SHARE))
    if len(told) > 1 and told[-1][0] == "user" and _INSTRUCTION.match(told[-1][1]):
        told.pop()
    if len(told) == 1:
        return _cut("\n".join(key_sentences(told[0][1], most // _LONGEST_SHARE + 1)), most)
    kept = _fewer(told, max(most // _SHORTEST_SHARE, 2))
    share = min(_LONGEST_SHARE, most // max(len(kept), 1) - 10)
    lines = [f"{_SPEAKERS.get(role, role)}: {_cut(' '.join(text.split()), share)}" for role, text in kept]
    return _cut("\n".join(lines), most)


def title(messages: Sequence[Message]) -> str:
    """Up to six words of what the person first asked for."""
    first = next((m.content for m in messages if m.role == "user" and m.content.strip() and not m.origin), "")
    words = _PREFIX.sub("", " ".join(first[:500].split()), count=1).split()[:TITLE_WORDS]
    return capitalised(" ".join(words).strip(" .,;:!?\"'")) or "Conversation"


def _fewer(told: Sequence[tuple[str, str]], most: int) -> Sequence[tuple[str, str]]:
    """At most so many: without tool results first, then without answers, at last the first and the newest."""
    for role in ("tool", "assistant"):
        if len(told) > most:
            told = [(who, text) for who, text in told if who != role]
    return told if len(told) <= most else [told[0], *told[1 - most :]]


def _unpacked(messages: Sequence[Message]) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = [(m.role, m.content) for m in messages if m.role != "system"]
    if len(told) == 1 and (elements := _ELEMENT.findall(told[0][1])):
        return [(role, text) for role, text in elements]
    return told


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: max(most - 4, 0)].rsplit(" ", 1)[0] + " ..."


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.get(text.lower(), _USUAL)


_SPEAKERS = {"user": "User", "assistant": "Assistant", "tool": "Tool result", "summary": "Before"}
