"""Keyword classifier: the task type of a message, by the first group of keywords that it contains."""

import re
from functools import cache
from typing import Final

from sophon.lazy_dataclass import dataclass
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
"""The groups of keywords, the first with the highest priority. Source: reference/clawft.md 3.2 and its document."""

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
    # Most keywords are not in a text at all, and a plain search is a tenth of the cost of a pattern.
    found = [entry for entry in _ENTRIES if entry[1] in lowered]
    if whole_words:
        found = [entry for entry in found if _pattern(entry[2]).search(lowered) is not None]
    else:
        found = [entry for entry in found if entry[2] in lowered]
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


@cache
def _pattern(keyword: str) -> re.Pattern[str]:
    return re.compile(r"\b" + r"\s+".join(map(re.escape, keyword.split())) + r"\b")
