"""Scorers of a finished turn: none, the published fitness score, and a heuristic of five dimensions."""

import re
from collections.abc import Mapping
from typing import Final

from sophon.learning.contract import ScoredTurn, Scorer
from sophon.learning.fitness import Fitness, fitness

_WORD: Final = re.compile(r"[^\W_]+")
_LIST_LINE: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_ASKS_LIST: Final = re.compile(r"\b(?:list|steps?|bullets?|enumerate|table)\b", re.IGNORECASE)
_FENCE: Final = re.compile(r"^\s*```", re.MULTILINE)

CODE_TYPES: Final = frozenset({"code_generation", "code_review"})
DIMENSION_WEIGHTS: Final[Mapping[str, float]] = {
    "relevance": 0.35,
    "length": 0.15,
    "format": 0.15,
    "tool_success": 0.2,
    "completion": 0.15,
}
"""Weights of the five dimensions, which sum to 1."""
SHORT_WORDS: Final = 3
"""A reply of fewer words to a request of more than `LONG_REQUEST_WORDS` is hardly an answer."""
LONG_REQUEST_WORDS: Final = 12
LONG_WORDS: Final = 1500
"""From here on a reply is too long, whatever was asked; twice as many words score 0.3."""
SHARE_OF_KEYWORDS: Final = 0.5
"""Share of the request's keywords that a reply to the point repeats."""


class NoopScorer:
    """Scorer that gives every reply 1.0, as published for a pipeline that does not learn."""

    def score(self, turn: ScoredTurn) -> Fitness:
        """See `Scorer.score`."""
        return Fitness(1.0, 1.0, 1.0, 1.0, 1.0)


class FitnessScorer:
    """Scorer with the published formula; see `fitness`."""

    def score(self, turn: ScoredTurn) -> Fitness:
        """See `Scorer.score`."""
        return fitness(
            turn.request_text,
            turn.reply_text,
            finish_reason=turn.finish_reason,
            output_tokens=turn.output_tokens,
            tools_offered=turn.tools_offered,
            tools_used=turn.tools_used,
        )


class HeuristicScorer:
    """Scorer by five dimensions of form: relevance, length, format, success of the tools, completion.

    In the `Fitness`, `efficiency` is the length, `coherence` the format, `tool_accuracy` the success of the tools, and
    `overall` the weighted sum of all five. An empty reply scores 0 in each.
    """

    def score(self, turn: ScoredTurn) -> Fitness:
        """See `Scorer.score`."""
        found = score_dimensions(turn)
        overall = sum(weight * found[name] for name, weight in DIMENSION_WEIGHTS.items())
        return Fitness(min(overall, 1.0), found["relevance"], found["length"], found["tool_success"], found["format"])


SCORERS: Final[Mapping[str, type[Scorer]]] = {
    "Noop": NoopScorer,
    "Fitness": FitnessScorer,
    "Heuristic": HeuristicScorer,
}
"""Scorers by the name in the setting Learning.Scorer."""


def score_dimensions(turn: ScoredTurn) -> dict[str, float]:
    """Return the five dimensions of a reply, each 0 to 1."""
    if not turn.reply_text.strip():
        return dict.fromkeys(DIMENSION_WEIGHTS, 0.0)
    return {
        "relevance": score_relevance(turn.request_text, turn.reply_text),
        "length": score_length(len(turn.request_text.split()), len(turn.reply_text.split())),
        "format": score_format(turn.request_text, turn.reply_text, turn.task_type),
        "tool_success": score_tools(turn.tools_used, turn.tool_failures),
        "completion": score_completion(turn.finish_reason),
    }


def score_relevance(request: str, reply: str) -> float:
    """Return 1 if at least half of the words of the request that are longer than three letters come again, else less.

    A short request has hardly a word to repeat: it scores at least 0.7.
    """
    asked = {word for word in _WORD.findall(request.lower()) if len(word) > 3}
    if not asked:
        return 1.0
    share = len(asked.intersection(_WORD.findall(reply.lower()))) / len(asked)
    floor = 0.7 if len(asked) <= 3 else 0.3
    return floor + (1 - floor) * min(share / SHARE_OF_KEYWORDS, 1.0)


def score_length(request_words: int, reply_words: int) -> float:
    """Return 1 for a length that fits, less for one word to a long request and for pages."""
    if reply_words > LONG_WORDS:
        return max(1.0 - 0.7 * (reply_words - LONG_WORDS) / LONG_WORDS, 0.3)
    if reply_words < SHORT_WORDS and request_words > LONG_REQUEST_WORDS:
        return 0.4
    return 1.0


def score_format(request: str, reply: str, task_type: str) -> float:
    """Return 1 for code in fences and lists where they are asked for, 0.6 without; an open fence costs 0.4."""
    score, fences = 1.0, len(_FENCE.findall(reply))
    if (task_type in CODE_TYPES and not fences) or (_ASKS_LIST.search(request) and not _LIST_LINE.search(reply)):
        score = 0.6
    return score - 0.4 if fences % 2 else score


def score_tools(used: int, failed: int) -> float:
    """Return the share of the tool calls that succeeded; 1 without any."""
    return 1.0 if used < 1 else max(used - failed, 0) / used


def score_completion(finish_reason: str) -> float:
    """Return 1 for a reply that the model ended itself, 0.5 for one cut off by a limit, 0 for any other."""
    return {"stop": 1.0, "length": 0.5, "max_iterations": 0.5}.get(finish_reason, 0.0)
