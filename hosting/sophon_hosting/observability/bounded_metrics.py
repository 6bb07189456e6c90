"""Bounded metrics: limited label values and plausible numbers, so that no reported value corrupts a metric."""

from collections.abc import Collection
from typing import Generic, TypeVar

from prometheus_client import Counter, Histogram

OTHER_LABEL = "other"
"""Label value for all names that are not allowed."""

MAX_VALUE = 10**15
"""Maximum of a plausible number (ms, tokens, micro-USD), below the precision limit of a float counter (2**53)."""

MetricT = TypeVar("MetricT", Counter, Histogram)


def restrict_label(name: object, allowed: Collection[str]) -> str:
    """Return the name if it is allowed, else `other`."""
    return name if isinstance(name, str) and name in allowed else OTHER_LABEL


def sanitize_number(number: object) -> float:
    """Return the number, or 0 for a negative, implausibly large or non-numeric value.

    Models may report anything, and a wrong value would stay in a counter forever.
    """
    return number if isinstance(number, int | float) and 0 <= number <= MAX_VALUE else 0


class LabeledMetric(Generic[MetricT]):
    """Metric with cached children by label values; looking one up costs more than counting.

    Only bounded labels may be used, because children are never removed.
    """

    __slots__ = ("_children", "_metric")

    def __init__(self, metric: MetricT) -> None:
        self._metric: MetricT = metric
        self._children: dict[tuple[str, ...], MetricT] = {}

    def labels(self, *labels: str) -> MetricT:
        """Return the child with these label values, in the order of the metric's label names."""
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = self._metric.labels(*labels)
        return child
