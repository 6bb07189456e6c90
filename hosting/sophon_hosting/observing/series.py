"""Bounded metrics: limited label values and plausible numbers, so that no reported value corrupts a metric."""

from collections.abc import Collection
from typing import Generic, TypeVar

from prometheus_client import Counter, Histogram

OTHER = "other"
"""Label value for all names that are not allowed."""

MOST = 10**15
"""Maximum of a plausible number (ms, tokens, micro-USD), below the precision limit of a float counter (2**53)."""

M = TypeVar("M", Counter, Histogram)


def bounded(name: object, known: Collection[str]) -> str:
    """Return the name if it is allowed, else `other`."""
    return name if isinstance(name, str) and name in known else OTHER


def sensible(number: object) -> float:
    """Return the number, or 0 for a negative, implausibly large or non-numeric value.

    Models may report anything, and a wrong value would stay in a counter forever.
    """
    return number if isinstance(number, int | float) and 0 <= number <= MOST else 0


class Series(Generic[M]):
    """Metric with cached children by label values; looking one up costs more than counting.

    Only bounded labels may be used, because children are never removed.
    """

    __slots__ = ("_children", "_metric")

    def __init__(self, metric: M) -> None:
        self._metric: M = metric
        self._children: dict[tuple[str, ...], M] = {}

    def of(self, *labels: str) -> M:
        """Return the child with these label values, in the order of the metric's label names."""
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._metric.labels(*labels)
        return child
