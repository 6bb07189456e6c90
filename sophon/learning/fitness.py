"""Fitness score: how well a reply answers a request, by its form alone."""

import re
from typing import Final

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Fitness:
    """Scores of a reply, each 0 to 1. `relevance` is how far the request looks answered."""

    overall: float
    relevance: float
    efficiency: float
    tool_accuracy: float
    coherence: float


TOKEN_BUDGET: Final = 4096
"""Output tokens that a reply may take; using at most half of them is efficient."""

_REFUSALS: Final = ("i can't", "i cannot", "i'm unable", "i am unable", "i'm sorry, but", "as an ai")
_STOP_WORDS: Final = frozenset(
    {
        *("the", "and", "for", "are", "but", "not", "you", "all", "any", "can", "had", "her", "was", "one", "our"),
        *("out", "has", "him", "his", "how", "its", "may", "new", "now", "see", "two", "who", "did", "get", "let"),
        *("put", "say", "she", "too", "use", "with", "this", "that", "from", "have", "what", "when", "your", "will"),
        *("about", "which", "their", "would", "there", "could", "please", "into", "some", "them", "then", "than"),
    }
)
_WORD: Final = re.compile(r"[^\W_]+")
_STRUCTURE: Final = re.compile(r"^[^\S\n]*(?:[-*+]|\d+[.)]|#{1,6})\s|```", re.MULTILINE)
_SENTENCE: Final = re.compile(r"[.!?](?:\s+|$)")


def fitness(
    request_text: str,
    reply_text: str,
    *,
    finish_reason: str = "stop",
    output_tokens: int = 0,
    tools_offered: int = 0,
    tools_used: int = 0,
) -> Fitness:
    """Return the scores of a reply; `tools_offered` and `tools_used` are counts. Source: clawft, scorers.

    `overall` is 0.4 relevance + 0.2 each of efficiency, tool accuracy and coherence.
    """
    relevance = _score_completion(request_text, reply_text, finish_reason)
    efficiency = _score_efficiency(output_tokens)
    tool_accuracy = 0.7 if tools_offered > 0 and tools_used <= 0 else 1.0
    coherence = _score_coherence(reply_text)
    overall = 0.4 * relevance + 0.2 * efficiency + 0.2 * tool_accuracy + 0.2 * coherence
    return Fitness(_clamp(overall), relevance, efficiency, tool_accuracy, coherence)


def _score_completion(request: str, reply: str, finish_reason: str) -> float:
    if not reply.strip():
        return 0.0
    score = 1.0
    lowered = reply.lower().replace("’", "'")
    if len(reply.strip()) < 10:
        score -= 0.3
    if any(phrase in lowered for phrase in _REFUSALS):
        score -= 0.2
    if finish_reason in ("length", "max_tokens"):
        score -= 0.15
    asked = {word for word in _WORD.findall(request.lower()) if len(word) > 2} - _STOP_WORDS
    if asked:
        score += 0.15 * len(asked.intersection(_WORD.findall(lowered))) / len(asked)
    return _clamp(score)


def _score_efficiency(output_tokens: int) -> float:
    if output_tokens < 2:
        return 0.2
    ratio = output_tokens / TOKEN_BUDGET
    if ratio <= 0.5:
        return 1.0
    return _clamp(1.0 - 0.5 * (ratio - 0.5) if ratio <= 0.8 else 0.7 - 1.5 * (ratio - 0.8))


def _score_coherence(reply: str) -> float:
    if not reply.strip():
        return 0.0
    score = 1.0
    if "\n" not in reply.strip() and len(reply) > 500:
        score -= 0.15
    if len(reply) > 100 and _STRUCTURE.search(reply):
        score += 0.1
    sentences = [sentence for each in _SENTENCE.split(reply) if (sentence := each.strip(" \t\r\n.!?").lower())]
    if len(sentences) > 3 and len(set(sentences)) < len(sentences) / 2:
        score -= 0.3
    return _clamp(score)


def _clamp(score: float) -> float:
    return min(max(score, 0.0), 1.0)
