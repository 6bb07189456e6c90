"""Complexity of a prompt by seven factors, with a confidence.

The factors are those that clawft announces; their formulas, words and weights are ours, because none are published.
They were fitted to one half of tests/cases/routing_messages.tsv; docs/routing.md has the agreement with the other half.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.learning.complexity_tiers import TIER_BORDER

TECHNICAL: Final = frozenset(
    {
        *("api", "async", "audit", "cache", "cloud", "cluster", "codec", "compiler", "cpu", "database", "deadlock"),
        *("encoder", "gradient", "hash", "index", "inference", "integral", "kernel", "latency", "liability", "matrix"),
        *("mutex", "oauth", "parser", "pipeline", "proof", "protocol", "query", "queue", "recursion", "regression"),
        *("schema", "security", "shard", "statute", "tensor", "theorem", "thread", "variance"),
    }
)
"""Short words of a field; longer ones count by their length."""

INDEFINITE: Final = frozenset(
    {
        *("something", "somehow", "somewhere", "anything", "stuff", "thing", "things", "maybe", "perhaps", "etc"),
        *("whatever", "irgendwie", "irgendwas", "algo", "cosas", "quelque", "truc"),
    }
)
EVALUATIVE: Final = frozenset(("good", "better", "nice", "nicer", "gut", "besser", "schön", "mejor", "bonito", "mieux"))
PRONOUNS: Final = frozenset(("it", "this", "that", "they", "them", "those", "these", "es", "das", "lo", "eso", "ça"))

REASONING_WORDS: Final = frozenset(
    {
        *(
            "bound",
            "bounds",
            "cause",
            "causes",
            "flaw",
            "plan",
            "plans",
            "planning",
            "prove",
            "proves",
            "rank",
            "weigh",
        ),
        *("why", "risk", "risks", "warum", "weshalb", "causa", "causas", "risiko", "risiken", "pourquoi", "risques"),
    }
)

STEM_START: Final = 4
"""Letters by which a word finds its stems."""

_STEMS: Final = (
    *("analy", "anali", "architec", "architek", "arquitec", "argue", "argum", "assess", "assum", "beweis", "bewert"),
    *("begründ", "compar", "conclu", "consequen", "critiq", "critici", "debug", "deduc", "deriv", "design", "diagno"),
    *("diseñ", "disting", "entwerf", "entwirf", "entwick", "estimat", "estrateg", "evalu", "eviden", "évalu"),
    *("experim", "generali", "hypoth", "hipót", "implement", "implic", "implik", "interpret", "investig", "justif"),
    *("methodol", "mitigat", "optimi", "optimier", "priorit", "proof", "propos", "prüf", "reason", "recommend"),
    *(
        "reconcil",
        "refactor",
        "refut",
        "restruct",
        "review",
        "rewrit",
        "secur",
        "segur",
        "sécur",
        "sicher",
        "simulat",
        "specif",
        "stratég",
    ),
    *("strateg", "trade", "ursach", "untersuch", "vergleich", "verif", "vorschlag", "vulnerab"),
)


def _group_stems() -> Mapping[str, tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for stem in _STEMS:
        groups.setdefault(stem[:STEM_START], []).append(stem)
    return {start: tuple(stems) for start, stems in groups.items()}


REASONING_STEMS: Final = _group_stems()
"""Beginnings of words that ask for reasoning, by their first `STEM_START` letters."""


WEIGHTS: Final[Mapping[str, float]] = {
    "word_count": 0.15,
    "vocabulary_diversity": 0.12,
    "syntactic_depth": 0.08,
    "domain_specificity": 0.13,
    "ambiguity": 0.08,
    "code_density": 0.08,
    "reasoning_chain_length": 0.36,
}
"""Share of each factor in the score; together 1."""

STEEPNESS: Final = 20.0
"""Slope of the logistic curve that gives the chance that a prompt needs the tier above: one half at the border."""

VAGUENESS: Final = 0.6
"""Share of the confidence that a wholly ambiguous prompt loses."""

FULL_WORDS: Final = 40
"""Words with which a prompt counts as long."""

FULL_VOCABULARY: Final = 16
"""Different words of more than four letters with which the vocabulary counts as rich."""

SPECIFIC_LETTERS: Final = 9
"""Letters from which a word counts as one of a field; in every language the frequent words are short."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Score of a prompt, the confidence in it, and the factors by name; all 0 to 1."""

    score: float
    confidence: float
    factors: Mapping[str, float]


_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|$)|\n{2,}")
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
_ITEM_SIGN: Final = re.compile(r"[-*\d](?:(?<=[-*])|[.)])")
"""It begins with a set of characters, by which the search is several times as fast as by a choice."""
_STEP_ITEM: Final = re.compile(r"^[^\S\n]*(?:\d+[.)]|[-*])\s", re.MULTILINE)
"""A `\\s*` would look at a run of empty lines again from each of them."""
_FORMULA_SIGN: Final = re.compile(r"[\^²³⁴ⁿ\\∫∑∏∂∇]")
_FORMULA: Final = re.compile(
    r"(?:(?<![^\W\d_])[a-ln-z]|[)\]}])\s?(?:\^\s?-?[a-z\d({]|[²³⁴ⁿ])"  # a power of an unknown; m² is an area
    r"|[a-z\d)]\^[({]?-?\d*[a-z](?![a-z])"
    r"|\\(?:frac|int|lim|partial|prod|sqrt|sum)(?![a-z])|[∫∑∏∂∇]"
)
_POWER: Final = re.compile(r"\d\s?\^\s?[\d({]")
_NUMBER_THEORY: Final = re.compile(r"\b(?:digit|divi[ds]|fa[ck]tor|mod\b|modulo|prim|remainder|resid|ziffer|teilbar)")

FORMULA_WORDS: Final = 3
"""Words of reasoning that a formula counts as: a problem of mathematics is hard in three words, too."""


def complexity_factors(text: str, *, borders: Sequence[float] = (TIER_BORDER,)) -> Factors:
    """Return the factors of a prompt, their weighted sum, and the confidence that its tier is good enough.

    The `borders` are those between tiers. A router goes one tier up where the confidence is low.
    """
    fences = _FENCE.findall(text) if "```" in text else []
    prose = (_FENCE.sub(" ", text) if fences else text).lower()
    # One tokenisation for all factors: it is the largest part of the cost.
    tokens = _TOKEN.findall(prose)
    has_joined_words = "_" in prose or "'" in prose or "’" in prose
    words = _WORD.findall(prose) if has_joined_words else tokens
    unique = set(words)
    specific = sum(1 for word in unique if len(word) >= SPECIFIC_LETTERS or word in TECHNICAL)
    rich = sum(1 for word in unique if len(word) > 4)
    factors = {
        "word_count": min(len(text.split()) / FULL_WORDS, 1.0),
        "vocabulary_diversity": min(rich / FULL_VOCABULARY, 1.0),
        "syntactic_depth": _measure_depth(prose, tokens),
        "domain_specificity": min(specific / 5, 1.0),
        "ambiguity": _measure_ambiguity(words, unique),
        "code_density": _measure_code(text, fences),
        "reasoning_chain_length": min(
            (_count_reasoning(unique) + FORMULA_WORDS * has_formula(prose) + _count_steps(prose, tokens) / 2) / 3, 1.0
        ),
    }
    score = min(sum(weight * factors[name] for name, weight in WEIGHTS.items()), 1.0)
    return Factors(score, measure_confidence(score, borders, factors["ambiguity"]), factors)


def measure_confidence(score: float, borders: Sequence[float], ambiguity: float = 0.0) -> float:
    """Return the confidence that a prompt needs no higher tier than that of its score: 1 without a border above it.

    It is 1 less twice the chance that it does need one, by a logistic curve around the next border: 0 just below it,
    0.5 where the chance is one in four. A vague prompt loses up to `VAGUENESS` of it.
    """
    above = [border for border in borders if border > score]
    if not above:
        return 1.0
    return (1 - 2 / (1 + math.exp(STEEPNESS * (min(above) - score)))) * (1 - VAGUENESS * ambiguity)


def _count(tokens: Sequence[str], wanted: frozenset[str]) -> int:
    return sum(map(wanted.__contains__, tokens))


def _count_reasoning(unique: set[str]) -> int:
    """Return how many different words ask for reasoning; forms of one word count once."""
    found = unique & REASONING_WORDS
    for word in unique:
        stems = REASONING_STEMS.get(word[:STEM_START])
        if stems is not None and word.startswith(stems):
            found.add(word[:STEM_START])
    return len(found)


def has_formula(prose: str) -> bool:
    """Return whether a text in lower case has a formula with an unknown, or asks for the nature of a power."""
    if _FORMULA_SIGN.search(prose) is None:
        return False
    if _FORMULA.search(prose) is not None:
        return True
    return _POWER.search(prose) is not None and _NUMBER_THEORY.search(prose) is not None


def _measure_ambiguity(words: Sequence[str], unique: set[str]) -> float:
    """Return the share of vague words, times four: indefinite ones, and a praise that only a pronoun stands beside.

    Pronouns alone are not vague: what "it" is stands in the conversation.
    """
    found = 0 if unique.isdisjoint(INDEFINITE) else _count(words, INDEFINITE)
    if not unique.isdisjoint(EVALUATIVE) and not unique.isdisjoint(PRONOUNS):
        found += _count(words, EVALUATIVE) + _count(words, PRONOUNS)
    return min(found / len(words) * 4, 1.0) if found else 0.0


def _measure_depth(prose: str, tokens: list[str]) -> float:
    """Return the clauses of the sentence with most of them; six and more count as 1."""
    whole = _count_clauses(prose, tokens)
    if whole <= 1:
        return whole / 6
    paragraphs = prose.split("\n\n")
    sentences = [each for paragraph in paragraphs for each in _SENTENCE_END.split(paragraph) if each.strip()]
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
