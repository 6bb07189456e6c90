"""Scorers of a finished turn: none, the published fitness score, and faults that the form of an answer shows.

Routing learns from a scorer that can tell good answers from bad ones. The published formula cannot: a wrong answer and
nonsense get 0.94, and the right answer "4" gets 0.82. Its scores are shown, and nothing more.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from sophon.learning.contract import ScoredTurn, Scorer
from sophon.learning.fitness import Fitness, fitness
from sophon.learning.form_faults import FAULT_SCORES, find_faults

Judge: TypeAlias = Literal["", "form", "evaluator", "scorer"]
"""Who judged an answer: nobody, the rules of form, a model, or a scorer of the program."""


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
    """Scorer that names faults which the form of an answer shows; without one it has no opinion.

    In the `Fitness`, `relevance` falls with a refusal, `coherence` with a format that was asked for and not kept,
    `tool_accuracy` with failed tools, `efficiency` with an answer that was cut off; `overall` is the worst of them.
    """

    def score(self, turn: ScoredTurn) -> Fitness | None:
        """See `Scorer.score`."""
        faults = find_faults(turn)
        if not faults:
            return None
        scores = {name: FAULT_SCORES[fault] for fault, name in _DIMENSIONS.items() if fault in faults}
        worst = min(FAULT_SCORES[fault] for fault in faults)
        if "empty" in faults:
            return Fitness(0.0, 0.0, 0.0, 0.0, 0.0)
        values = (scores.get(name, 1.0) for name in ("relevance", "efficiency", "tool_accuracy", "coherence"))
        return Fitness(worst, *values)


_DIMENSIONS: Final = {
    "refusal": "relevance",
    "cut_off": "efficiency",
    "failed_tools": "tool_accuracy",
    "format": "coherence",
}

SCORERS: Final[Mapping[str, type[Scorer]]] = {
    "Noop": NoopScorer,
    "Fitness": FitnessScorer,
    "Heuristic": HeuristicScorer,
    "Evaluator": HeuristicScorer,
}
"""Scorers of the turn by the name in the setting Learning.Scorer; with Evaluator a model follows after the turn."""


def find_judge(scorer: Scorer) -> Judge:
    """Return as what a scorer judges; "" for one whose scores teach nothing."""
    if isinstance(scorer, NoopScorer | FitnessScorer):
        return ""
    return "form" if isinstance(scorer, HeuristicScorer) else "scorer"
