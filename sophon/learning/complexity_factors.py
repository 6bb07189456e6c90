"""Complexity of a prompt by seven factors, with a confidence.

The factors are those that clawft announces; their formulas and weights are ours, because none are published.
"""

import re
from collections.abc import Mapping
from typing import Final

from sophon.lazy_dataclass import dataclass

WEIGHTS: Final[Mapping[str, float]] = {
    "word_count": 0.15,
    "vocabulary_diversity": 0.10,
    "syntactic_depth": 0.15,
    "domain_specificity": 0.20,
    "ambiguity": 0.10,
    "code_density": 0.15,
    "reasoning_chain_length": 0.15,
}
"""Share of each factor in the score; together 1."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Score of a prompt, the confidence in it, and the factors by name; all 0 to 1."""

    score: float
    confidence: float
    factors: Mapping[str, float]


FULL_WORDS: Final = 200
"""Words with which a prompt counts as long."""

CONFIDENT_WORDS: Final = 12
"""Words from which the score does not depend on single words any more."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SENTENCE_END: Final = re.compile(r"[.!?]+(?:\s|$)|\n{2,}")
_CLAUSE: Final = re.compile(
    r"[,;:()]|\b(?:because|although|while|whereas|which|that|if|unless|when|so that|but|and|or)\b", re.IGNORECASE
)
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINE: Final = re.compile(r"[{};=<>]\s*$|^\s*(?:def|class|import|from|return|SELECT|function|const|let|var)\b")
_STEP: Final = re.compile(
    r"\b(?:first|second|third|then|next|after that|afterwards|finally|lastly|step \d+|so that|therefore)\b"
    r"|^\s*(?:\d+[.)]|[-*])\s",
    re.IGNORECASE | re.MULTILINE,
)
_TECHNICAL: Final = frozenset(
    {
        *("algorithm", "api", "architecture", "async", "authentication", "cache", "cluster", "compiler", "concurrency"),
        *("container", "database", "deadlock", "deployment", "distributed", "encryption", "equation", "gradient"),
        *("hypothesis", "index", "inference", "integral", "kernel", "kubernetes", "latency", "liability", "matrix"),
        *("migration", "mutex", "optimization", "parser", "probability", "protocol", "proof", "query", "recursion"),
        *("refactor", "regression", "schema", "security", "statistics", "statute", "tensor", "theorem", "thread"),
        *("throughput", "transaction", "vulnerability"),
    }
)
_VAGUE: Final = frozenset(
    {
        *("it", "this", "that", "they", "them", "those", "these", "something", "somehow", "stuff", "thing", "things"),
        *("maybe", "perhaps", "better", "good", "nice", "etc", "whatever", "some", "somewhere", "anything"),
    }
)


def complexity_factors(text: str) -> Factors:
    """Return the factors of a prompt, their weighted sum, and the confidence in it.

    The confidence grows with the number of words, up to `CONFIDENT_WORDS`, and falls where the factors that measure
    difficulty contradict each other or the prompt is vague: then a router goes one tier up.
    """
    prose = _FENCE.sub(" ", text)
    words = [word.lower() for word in _WORD.findall(prose)]
    factors = {
        "word_count": min(len(text.split()) / FULL_WORDS, 1.0),
        "vocabulary_diversity": _measure_diversity(words),
        "syntactic_depth": _measure_depth(prose),
        "domain_specificity": min(len(_TECHNICAL.intersection(words)) / 4, 1.0),
        "ambiguity": min(sum(word in _VAGUE for word in words) / len(words) * 4, 1.0) if words else 0.0,
        "code_density": _measure_code(text),
        "reasoning_chain_length": min(len(_STEP.findall(prose)) / 4, 1.0),
    }
    score = sum(weight * factors[name] for name, weight in WEIGHTS.items())
    return Factors(min(score, 1.0), _measure_confidence(len(words), factors), factors)


def _measure_diversity(words: list[str]) -> float:
    """Return the share of different words, for a long text: each short one has nothing but different words."""
    if not words:
        return 0.0
    return len(set(words)) / len(words) * min(len(words) / 50, 1.0)


def _measure_depth(prose: str) -> float:
    """Return the clauses per sentence; six and more count as 1."""
    sentences = [each for each in _SENTENCE_END.split(prose) if each.strip()]
    if not sentences:
        return 0.0
    return min(max(len(_CLAUSE.findall(each)) for each in sentences) / 6, 1.0)


def _measure_code(text: str) -> float:
    """Return the share of the lines that are code: inside fences, or looking like code."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return 0.0
    fenced = sum(1 for block in _FENCE.findall(text) for line in block.splitlines() if line.strip())
    loose = sum(1 for line in _FENCE.sub("\n", text).splitlines() if _CODE_LINE.search(line))
    return min((fenced + loose) / len(lines), 1.0)


def _measure_confidence(words: int, factors: Mapping[str, float]) -> float:
    length = min(words / CONFIDENT_WORDS, 1.0)
    difficult = [factors[name] for name in ("domain_specificity", "code_density", "reasoning_chain_length")]
    disagreement = max(difficult) - min(difficult) if words < CONFIDENT_WORDS * 4 else 0.0
    return max(length * (1 - 0.5 * factors["ambiguity"]) * (1 - 0.3 * disagreement), 0.0)
