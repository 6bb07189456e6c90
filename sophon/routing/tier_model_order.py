"""Model selection: the order of the models within a tier."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

from sophon.models.gateway.provider import Candidate
from sophon.models.model import ModelInfo
from sophon.settings.sections.routing import SelectionName

SEED: Final = 0
"""Seed of what is drawn by chance, so that a run can be repeated."""


class ModelSelector:
    """Orders the models of a tier: by preference, in turn, by price, or drawn by chance from a seeded generator."""

    def __init__(self, selection: SelectionName) -> None:
        self._selection = selection
        self._random = random.Random(SEED)  # noqa: S311 - a choice between models is no secret
        self._turns: Counter[str] = Counter()

    def order(self, tier: str, candidates: Sequence[Candidate], *, is_trial: bool = False) -> list[Candidate]:
        """Return the candidates, the selected one first, the others in their order. A trial changes no state."""
        found = list(candidates)
        if len(found) < 2 or self._selection == "PreferenceOrder":
            return found
        if self._selection == "LowestCost":
            return sorted(found, key=lambda each: price_rank(each.info))
        if self._selection == "RoundRobin":
            position = self._turns[tier] % len(found)
            if not is_trial:
                self._turns[tier] += 1
        else:
            state = self._random.getstate()
            position = self._random.randrange(len(found))
            if is_trial:
                self._random.setstate(state)
        return [found[position], *found[:position], *found[position + 1 :]]


def price_rank(info: ModelInfo) -> tuple[bool, float]:
    """Return the key by which models are ordered by price: input and output together, one of unknown price last."""
    return (info.is_cost_unknown, sum(info.prices) if info.prices is not None else 0.0)


def cost_per_1k_tokens(info: ModelInfo) -> float | None:
    """Return the USD that 1,000 tokens cost at most; None if the price is unknown, 0 for a model that is free."""
    if info.prices is None:
        return None if info.is_cost_unknown else 0.0
    return max(info.prices) / 1000
