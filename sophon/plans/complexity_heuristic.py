"""Complexity heuristic: a score for how likely a message needs several steps."""

import re

from sophon._python.lazy_pattern import lazy_pattern

LONG_MESSAGE_CHARACTERS = 100
"""A message with more characters than this scores one point."""

_CONJUNCTIONS = lazy_pattern(r"\b(?:and\s+then|after\s+that|followed\s+by)\b", re.IGNORECASE)
_FIRST = lazy_pattern(r"\bfirst\b", re.IGNORECASE)
_THEN = lazy_pattern(r"\bthen\b", re.IGNORECASE)
_MULTI_STEP = lazy_pattern(r"\b(?:steps|plan|sequence)\b", re.IGNORECASE)
_VERBS = lazy_pattern(
    r"\b(?:search|find|look\s+up|get|fetch|read|write|create|send|build|update|delete|book|schedule"
    r"|summari[sz]e|translate|compare|analy[sz]e)\b",
    re.IGNORECASE,
)

_WORD = lazy_pattern(r"\w+")
_STEP_WORDS = ("steps", "plan", "sequence")
_VERB_WORDS = ("search", "find", "look", "get", "fetch", "read", "write", "create", "send", "build", "update", "delete")
_LATER_VERB_WORDS = ("book", "schedule", "summarise", "summarize", "translate", "compare", "analyse", "analyze")
_TELLING_WORDS = frozenset((*_STEP_WORDS, *_VERB_WORDS, *_LATER_VERB_WORDS))
"""The words with which the last two patterns begin."""


def heuristic_score(text: str) -> int:
    """Return 0 to 6 points; mode Auto plans from 3 points on. Matches whole words, case-insensitively.

    One point for more than 100 characters; two for a conjunction ("and then", "after that", "followed by", "first" with
    a later "then"); two for "steps", "plan" or "sequence"; one for two different action verbs in their base form.
    Source: Sophon's guide, planning. A bare "then" is none of the published
    phrases: it would score every "if ... then".
    """
    score = 1 if len(text) > LONG_MESSAGE_CHARACTERS else 0
    if text.isascii():  # most texts can match no pattern, and a set of their words is a tenth of the cost
        words = set(_WORD.findall(text.lower()))
        is_connected = "then" in words and ("and" in words or "first" in words)
        is_connected = is_connected or words >= {"after", "that"} or words >= {"followed", "by"}
        if not is_connected and words.isdisjoint(_TELLING_WORDS):
            return score
    if _CONJUNCTIONS.search(text) or _first_then(text):
        score += 2
    if _MULTI_STEP.search(text):
        score += 2
    if len({_base(verb[0]) for verb in _VERBS.finditer(text)}) >= 2:
        score += 1
    return score


def _first_then(text: str) -> bool:
    first = _FIRST.search(text)
    return first is not None and _THEN.search(text, first.end()) is not None


def _base(verb: str) -> str:
    """Return one spelling per verb: "Analyse" and "analyze" are the same verb."""
    return " ".join(verb.lower().split()).replace("yze", "yse").replace("ize", "ise")
