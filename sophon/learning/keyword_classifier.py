"""Keyword classifier: the task type of a message, by the first group of keywords that it contains."""

import re
from functools import cache
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.task_types import TaskType

KEYWORDS: Final[tuple[tuple[TaskType, tuple[str, ...]], ...]] = (
    (
        "code_generation",
        (
            *("code", "function", "implement", "debug", "fix", "program", "script", "compile", "refactor", "class"),
            *("struct", "module"),
        ),
    ),
    ("code_review", ("review", "check", "audit", "lint", "inspect")),
    ("research", ("search", "find", "research", "look up", "lookup", "discover")),
    ("creative", ("write", "story", "poem", "creative", "compose", "draft", "narrative")),
    ("analysis", ("analyze", "explain", "summarize", "compare", "evaluate", "assess")),
    ("tool_use", ("use tool", "run tool", "execute", "call function")),
)
"""The groups of keywords, the first with the highest priority. Source: clawft, KeywordClassifier and its document."""

MIN_COMPLEXITY: Final = 0.1
MAX_COMPLEXITY: Final = 0.9


@dataclass(frozen=True, slots=True)
class Classified:
    """Task type of a message, its keywords in the order of the groups, and a complexity, 0.1 to 0.9."""

    task_type: TaskType
    keywords: tuple[str, ...]
    complexity: float


def classify(text: str, *, whole_words: bool = True, complexity_boost: float = 0.0) -> Classified:
    """Return the task type of the first group with a keyword in the text, or `chat`; upper and lower case are the same.

    Keywords of later groups are listed too. The complexity is the number of keywords per word, plus the boost. With
    `whole_words=False` a keyword matches anywhere, as published: "class" in "classify", "fix" in "prefix".
    """
    lowered = text.lower()
    if whole_words:
        # The words of the text are looked up: a search for each keyword takes three times as long.
        hits = sorted(
            {number for word in _FIRST_WORDS.intersection(_WORD.findall(lowered)) for number in _BY_WORD[word]}
        )
        found = [
            each for each in map(_ENTRIES.__getitem__, hits) if each[1] == each[2] or _has_phrase(each[2], lowered)
        ]
    else:
        found = [entry for entry in _ENTRIES if entry[2] in lowered]
    share = len(found) / max(len(lowered.split()), 1)
    return Classified(
        task_type=found[0][0] if found else "chat",
        keywords=tuple([entry[2] for entry in found]),
        complexity=min(max(share + complexity_boost, MIN_COMPLEXITY), MAX_COMPLEXITY),
    )


_ENTRIES: Final[tuple[tuple[TaskType, str, str], ...]] = tuple(
    (kind, word.split(" ", 1)[0], word) for kind, words in KEYWORDS for word in words
)
"""Task type, first word, and keyword."""


_BY_WORD: Final = {
    first: [number for number, entry in enumerate(_ENTRIES) if entry[1] == first] for _, first, _ in _ENTRIES
}
"""Numbers of the entries by their first word."""

_FIRST_WORDS: Final = frozenset(_BY_WORD)
_WORD: Final = re.compile(r"\w+")


def _has_phrase(keyword: str, lowered: str) -> bool:
    return _pattern(keyword).search(lowered) is not None


@cache
def _pattern(keyword: str) -> re.Pattern[str]:
    return re.compile(r"\b" + r"\s+".join(map(re.escape, keyword.split())) + r"\b")
