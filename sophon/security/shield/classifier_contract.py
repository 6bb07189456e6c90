"""The contract of a classifier of Shield, and what its answer amounts to.

A classifier is an async callable that a host names by its import path (`Guards.Shield.Classifier`). It is called with
the action type and the arguments of a tool call, and returns the probability that they carry an attack, from 0 to 1,
or a `Finding`.
"""

import math
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Protocol

from sophon.security.heuristics import Finding

THRESHOLD: Final = 0.85
"""Probability from which a call is blocked. Source: OpenParallax, Shield."""

TIMEOUT_SECONDS: Final = 10.0
"""Time that a classifier has for a call."""

RULE: Final = "classifier.attack"

_STRICTNESS: Final = {"allow": 0, "escalate": 1, "block": 2}


class Classifier(Protocol):
    """Says how probable it is that a tool call carries an attack."""

    def __call__(self, action_type: str, payload: Mapping[str, Any], /) -> Awaitable[object]:
        """Return a probability from 0 to 1, or a `Finding`; anything else blocks the call."""
        ...


def read_classification(answer: object) -> Finding:
    """Return the finding that a classifier's answer stands for. Raises ValueError for anything else."""
    if isinstance(answer, Finding) and answer.severity in _STRICTNESS:
        return answer
    if isinstance(answer, int | float) and not isinstance(answer, bool) and math.isfinite(answer) and 0 <= answer <= 1:
        return Finding("block", float(answer), (RULE,)) if answer >= THRESHOLD else Finding()
    raise ValueError(f"the classifier answered {answer!r:.100}, which is neither a probability nor a Finding")


def find_stricter(first: Finding, second: Finding) -> Finding:
    """Return the stricter of two findings: block over escalate over allow, then the higher confidence."""
    return max(first, second, key=lambda each: (_STRICTNESS[each.severity], each.confidence))
