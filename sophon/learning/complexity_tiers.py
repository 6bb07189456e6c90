"""Tiers of complexity: the tier that a prompt is routed to."""

import math
from collections.abc import Collection
from typing import Final, Literal

BOOSTER_TAG: Final = "AGENT_BOOSTER_AVAILABLE"
"""Tag of a prompt that a booster can answer without any model: tier 1."""

TIER_BORDER: Final = 0.30
"""Complexity from which a prompt belongs to tier 3."""

LOW_CONFIDENCE: Final = 0.5
"""Confidence below which a prompt goes one tier up."""


def compute_tier(
    complexity: float, *, tags: Collection[str] = (), confidence: float = 1.0, border: float = TIER_BORDER
) -> Literal[1, 2, 3]:
    """Return the tier for a complexity: 1 with the booster's tag, 2 below the border, else 3.

    With a confidence below `LOW_CONFIDENCE` a prompt of tier 2 goes to tier 3, and so does one whose complexity or
    confidence is not a number: a model that is too good costs less than a wrong answer.
    """
    if BOOSTER_TAG in tags:
        return 1
    if math.isnan(complexity) or math.isnan(confidence) or confidence < LOW_CONFIDENCE:
        return 3
    return 2 if complexity < border else 3
