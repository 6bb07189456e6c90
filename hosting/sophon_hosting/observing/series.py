"""Metrics with bounded labels and sensible numbers: nothing reported can spoil one or stop the counting."""

from collections.abc import Collection
from typing import Generic, TypeVar

from prometheus_client import Counter, Histogram

OTHER = "other"

MOST = 10**15
"""Milliseconds, tokens, micro-USD: beyond what there can be, and below where a counter loses single steps (2**53)."""

M = TypeVar("M", Counter, Histogram)


def bounded(name: object, known: Collection[str]) -> str:
    """The name, or `other`."""
    return name if isinstance(name, str) and name in known else OTHER


def sensible(number: object) -> float:
    """The number, or 0 for one that is negative, beyond all measure or no number at all: a model reports what it likes,
    and one of these would stay in a counter for good.
    """
    return number if isinstance(number, int | float) and 0 <= number <= MOST else 0


class Series(Generic[M]):
    """The children of a metric by their labels; kept, since looking one up costs more than counting does.

    Only bounded labels go in: what is kept is never given back.
    """

    __slots__ = ("_children", "_metric")

    def __init__(self, metric: M) -> None:
        self._metric: M = metric
        self._children: dict[tuple[str, ...], M] = {}

    def of(self, *labels: str) -> M:
        """The child with these labels, in the order of the metric's own."""
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._metric.labels(*labels)
        return child
