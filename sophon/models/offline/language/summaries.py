"""Extractive summaries and titles: the sentences with the most frequent content words, in their original order."""

import re
from collections import Counter
from collections.abc import Sequence

from sophon.messages import Message
from sophon.models.offline.language.english import capitalise, ensure_full_stop, extract_content_words, split_sentences
from sophon.tools.untrusted_text import FENCE_ELEMENT

MAX_TITLE_WORDS = 6
MAX_SUMMARY_CHARACTERS = 2000
"""Maximum length of a compaction summary in characters."""

_MIN_CHARACTERS_PER_MESSAGE = 60
_MAX_CHARACTERS_PER_MESSAGE = 240
_MAX_SCORED_SENTENCES = 400
"""Sentences of a text that are scored; later ones are ignored."""
_DEFAULT_COUNT = 3
_FENCE_TAG = re.compile(rf"</?{FENCE_ELEMENT}-[^>\n]*>")
_CONJUNCTIONS = frozenset(("and", "or", "but", "then"))
_PREFIX = re.compile(r"\A\W*(?:please|can you|could you|hey|hi|hello|first(?:ly)?|bitte|hallo)\b[,!:]? ", re.IGNORECASE)
_INSTRUCTION = re.compile(r"\W*(?:please )?(?:summari[sz]e|compress|condense|write a summary)\b", re.IGNORECASE)
_ELEMENT = re.compile(r'<message role="(\w{1,20})">\n(.*?)\n</message>', re.DOTALL)
_COUNT = re.compile(
    r"\b(?:in|as|with|into) (?:at most |exactly |about )?(?P<count>\d{1,2}|one|two|three|four|five|six|seven"
    r"|eight|nine|ten) (?:short |brief |simple )?"
    r"(?P<unit>steps?|points?|bullets?|bullet points?|sentences?|lines?|parts?|items?)\b",
    re.IGNORECASE,
)
_GERMAN_COUNT = re.compile(
    r"\b(?:in|als|mit) (?:höchstens |genau |etwa )?(?P<count>\d{1,2}|einem|eine[nr]?|zwei|drei|vier|fünf|sechs|sieben"
    r"|acht|neun|zehn) (?:kurzen? |einfachen? )?(?P<unit>Schritte?n?|Punkte?n?|Satz|Sätzen?|Zeilen?|Teile?n?)\b",
    re.IGNORECASE,
)
_ONE_TO_TEN = "one two three four five six seven eight nine ten"
_GERMAN_ONE_TO_TEN = "einem zwei drei vier fünf sechs sieben acht neun zehn"
_NUMBER_WORDS = {
    **{word: n for words in (_ONE_TO_TEN, _GERMAN_ONE_TO_TEN) for n, word in enumerate(words.split(), 1)},
    **dict.fromkeys(("eine", "einen", "einer"), 1),
}


def extract_key_sentences(text: str, count: int) -> list[str]:
    """Return up to `count` sentences of a text, those with the highest scores, in their original order."""
    parts = list(dict.fromkeys(split_sentences(text)))[:_MAX_SCORED_SENTENCES]
    if len(parts) <= count:
        return parts
    words = [extract_content_words(part) for part in parts]
    weight = Counter(word for part in words for word in part)
    scores = [sum(weight[word] for word in part) / (len(part) + 1) ** 0.5 for part in words]
    best = sorted(range(len(parts)), key=lambda at: (-scores[at], at))[:count]
    return [parts[at] for at in sorted(best)]


def summarise_texts(texts: Sequence[str], clause: str, *, german: bool = False) -> str:
    """Summarise the texts in as many items or sentences as the clause asks for, by default three.

    If the texts have fewer sentences than requested, the summary says so.
    """
    requested = (_GERMAN_COUNT if german else _COUNT).search(clause)
    count = _parse_count(requested["count"]) if requested else _DEFAULT_COUNT
    chosen = extract_key_sentences("\n".join(join_list_items(text) for text in texts), max(count, 1))
    if requested is None or requested["unit"].lower().startswith(("sentence", "sätz", "satz")):
        return " ".join(ensure_full_stop(capitalise(part)) for part in chosen)
    if len(chosen) < count and german:
        chosen.append("Mehr gibt es nicht zusammenzufassen")
    elif len(chosen) < count:
        covered = {1: "the one result", 2: "both results"}.get(len(texts), f"all {len(texts)} results")
        chosen.append(f"That covers {covered}; there is nothing more to sum up")
    return "\n".join(f"{at}. {ensure_full_stop(capitalise(part.lstrip('- ')))}" for at, part in enumerate(chosen, 1))


def join_list_items(text: str) -> str:
    """Return a text in which the items of each list stand behind its heading, each once: `About cats: one; two.`"""
    lines: list[str] = []
    items: list[str] = []
    for line in [*text.split("\n"), ""]:
        if line.startswith("- ") and lines and lines[-1].endswith(":"):
            items.append(line.removeprefix("- ").rstrip("."))
            continue
        if items:
            lines[-1] += f" {'; '.join(dict.fromkeys(items))}."
            items = []
        lines.append(line)
    return "\n".join(lines[:-1])


def compact_messages(messages: Sequence[Message], max_characters: int = MAX_SUMMARY_CHARACTERS) -> str:
    """Compact a conversation to at most half its length: one line per message with its role.

    If there are too many messages, those of the user are preferred. The input is either the messages themselves or a
    single message that contains them as `<message role="...">` elements.
    """
    turns = [m for m in _unpack_messages(messages) if split_sentences(m[1])]
    if not turns:
        return "Nothing has been said."
    max_characters = min(max_characters, max(sum(len(text) for _, text in turns) // 2, _MIN_CHARACTERS_PER_MESSAGE))
    if len(turns) > 1 and turns[-1][0] == "user" and _INSTRUCTION.match(turns[-1][1]):
        turns.pop()
    if len(turns) == 1:
        return _shorten(
            "\n".join(extract_key_sentences(turns[0][1], max_characters // _MAX_CHARACTERS_PER_MESSAGE + 1)),
            max_characters,
        )
    kept = _reduce_messages(turns, max(max_characters // _MIN_CHARACTERS_PER_MESSAGE, 2))
    share = min(_MAX_CHARACTERS_PER_MESSAGE, max_characters // max(len(kept), 1) - 10)
    lines = [f"{_ROLE_LABELS.get(role, role)}: {_shorten(' '.join(text.split()), share)}" for role, text in kept]
    return _shorten("\n".join(lines), max_characters)


def make_title(messages: Sequence[Message]) -> str:
    """Return a title: up to six words of the first user message."""
    first = next((m.content for m in messages if m.role == "user" and m.content.strip() and not m.origin), "")
    shown = " ".join(_FENCE_TAG.sub(" ", first[:500]).split())
    words = _PREFIX.sub("", shown, count=1).split()[:MAX_TITLE_WORDS]
    while words and words[-1].casefold() in _CONJUNCTIONS:
        words.pop()  # a title that is cut does not end with what joins it to the rest
    return capitalise(" ".join(words).strip(" .,;:!?\"'")) or "Conversation"


def _reduce_messages(turns: Sequence[tuple[str, str]], most: int) -> Sequence[tuple[str, str]]:
    """Reduce to `max_characters` messages: drop tool results, then replies, then all but the first and the newest."""
    for role in ("tool", "assistant"):
        if len(turns) > most:
            turns = [(who, text) for who, text in turns if who != role]
    return turns if len(turns) <= most else [turns[0], *turns[1 - most :]]


def _unpack_messages(messages: Sequence[Message]) -> list[tuple[str, str]]:
    turns: list[tuple[str, str]] = [(m.role, m.content) for m in messages if m.role != "system"]
    if len(turns) == 1 and (elements := _ELEMENT.findall(turns[0][1])):
        return [(role, text) for role, text in elements]
    return turns


def _shorten(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: max(most - 4, 0)].rsplit(" ", 1)[0] + " ..."


def _parse_count(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBER_WORDS.get(text.lower(), _DEFAULT_COUNT)


_ROLE_LABELS = {"user": "User", "assistant": "Assistant", "tool": "Tool result", "summary": "Before"}
