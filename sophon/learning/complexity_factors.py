"""Complexity of a prompt by seven factors, with a confidence.

The factors are those that clawft announces; their formulas and weights are ours, because none are published.
"""

import re
from collections.abc import Collection, Mapping, Sequence
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
_CLAUSE_SIGN: Final = re.compile(r"[,;:()]")
_CLAUSE_WORDS: Final = frozenset(
    ("because", "although", "while", "whereas", "which", "that", "if", "unless", "when", "but", "and", "or")
)
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_END: Final = tuple("{};=<>")
_CODE_START: Final = re.compile(r"\s*(?:def|class|import|from|return|SELECT|function|const|let|var)\b")
_TOKEN: Final = re.compile(r"\w+")
_STEP_WORDS: Final = frozenset(
    ("first", "second", "third", "then", "next", "afterwards", "finally", "lastly", "therefore")
)
_STEP_PHRASE: Final = re.compile(r"\b(?:after that|step \d+|so that)\b")
_ITEM_SIGN: Final = re.compile(r"[-*]|\d[.)]")
_STEP_ITEM: Final = re.compile(r"^\s*(?:\d+[.)]|[-*])\s", re.MULTILINE)
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
    fences = _FENCE.findall(text) if "```" in text else []
    prose = (_FENCE.sub(" ", text) if fences else text).lower()
    # One tokenisation for all factors: it is the largest part of the cost.
    tokens = _TOKEN.findall(prose)
    has_joined_words = "_" in prose or "'" in prose or "’" in prose
    words = _WORD.findall(prose) if has_joined_words else tokens
    unique = set(words)
    factors = {
        "word_count": min(len(text.split()) / FULL_WORDS, 1.0),
        "vocabulary_diversity": _measure_diversity(words, unique),
        "syntactic_depth": _measure_depth(prose, tokens),
        "domain_specificity": min(len(unique & _TECHNICAL) / 4, 1.0),
        "ambiguity": 0.0 if unique.isdisjoint(_VAGUE) else min(_count(words, _VAGUE) / len(words) * 4, 1.0),
        "code_density": _measure_code(text, fences),
        "reasoning_chain_length": min(_count_steps(prose, tokens) / 4, 1.0),
    }
    score = sum(weight * factors[name] for name, weight in WEIGHTS.items())
    return Factors(min(score, 1.0), _measure_confidence(len(words), factors), factors)


def _count(tokens: Sequence[str], wanted: frozenset[str]) -> int:
    return sum(map(wanted.__contains__, tokens))


def _measure_diversity(words: list[str], unique: Collection[str]) -> float:
    """Return the share of different words, for a long text: each short one has nothing but different words."""
    if not words:
        return 0.0
    return len(unique) / len(words) * min(len(words) / 50, 1.0)


def _measure_depth(prose: str, tokens: list[str]) -> float:
    """Return the clauses of the sentence with most of them; six and more count as 1."""
    whole = _count_clauses(prose, tokens)
    if not whole:
        return 0.0
    sentences = [each for each in _SENTENCE_END.split(prose) if each.strip()]
    if len(sentences) > 1:
        whole = max(_count_clauses(each, _TOKEN.findall(each)) for each in sentences)
    return min(whole / 6, 1.0)


def _count_clauses(sentence: str, tokens: list[str]) -> int:
    return len(_CLAUSE_SIGN.findall(sentence)) + _count(tokens, _CLAUSE_WORDS)


def _count_steps(prose: str, tokens: list[str]) -> int:
    """Return the words, phrases and list items that announce a step."""
    found = _count(tokens, _STEP_WORDS)
    if " that" in prose or "step " in prose:
        found += len(_STEP_PHRASE.findall(prose))
    return found + (len(_STEP_ITEM.findall(prose)) if _ITEM_SIGN.search(prose) else 0)


def _measure_code(text: str, fences: Sequence[str]) -> float:
    """Return the share of the lines that are code: inside fences, or looking like code."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return 0.0
    fenced = sum(1 for block in fences for line in block.splitlines() if line.strip())
    outside = _FENCE.sub("\n", text).splitlines() if fences else lines
    loose = sum(1 for line in outside if line.rstrip().endswith(_CODE_END) or _CODE_START.match(line))
    return min((fenced + loose) / len(lines), 1.0)


def _measure_confidence(words: int, factors: Mapping[str, float]) -> float:
    length = min(words / CONFIDENT_WORDS, 1.0)
    difficult = [factors[name] for name in ("domain_specificity", "code_density", "reasoning_chain_length")]
    disagreement = max(difficult) - min(difficult) if words < CONFIDENT_WORDS * 4 else 0.0
    return max(length * (1 - 0.5 * factors["ambiguity"]) * (1 - 0.3 * disagreement), 0.0)
