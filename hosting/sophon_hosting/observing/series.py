"""Metrics with bounded labels: a name out of a closed set is itself, every other one is `other`."""

from collections.abc import Collection
from typing import Generic, TypeVar

from prometheus_client import Counter, Histogram

OTHER = "other"

M = TypeVar("M", Counter, Histogram)


def bounded(name: str, known: Collection[str]) -> str:
    """The name, or `other`."""
    return name if name in known else OTHER


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
