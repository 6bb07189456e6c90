"""Circuit breaker for compaction: skips summaries for a model after repeated failures."""

from collections import OrderedDict

from sophon.lazy_dataclass import dataclass

FAILURE_THRESHOLD = 3
OPEN_SECONDS = 60.0
"""The breaker opens for a minute after three failures in a row. Source: reference/clawdesk.md 1.3."""

MAX_MODELS = 256


@dataclass(frozen=True, slots=True)
class CompactionStatistics:
    """Counts since the process started; `open_models` holds the ids of models whose breaker is open."""

    succeeded: int
    failed: int
    open_models: tuple[str, ...]


@dataclass(slots=True)
class _Record:
    failures: int = 0
    open_until: float = 0.0


class CompactionBreaker:
    """Per model: opens after `failure_threshold` failures in a row; then only truncation is used for `open_seconds`.

    When that time is over, one try is allowed, and its failure opens the breaker again. `now` is in seconds of a
    monotonic clock. Beyond 256 failing models the one that failed longest ago is evicted.
    """

    __slots__ = ("_failed", "_failures", "_records", "_rest_seconds", "_succeeded")

    def __init__(self, failure_threshold: int = FAILURE_THRESHOLD, open_seconds: float = OPEN_SECONDS) -> None:
        self._failures = failure_threshold
        self._rest_seconds = open_seconds
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._succeeded = 0
        self._failed = 0

    def allows(self, model_id: str, now: float) -> bool:
        """Return whether a summary may be requested."""
        record = self._records.get(model_id)
        return record is None or now >= record.open_until

    def record_success(self, model_id: str) -> None:
        """Record a summary that saved tokens."""
        self._succeeded += 1
        self._records.pop(model_id, None)

    def record_failure(self, model_id: str, now: float) -> None:
        """Record a failure: an error, a timeout, an empty or too long summary."""
        self._failed += 1
        record = self._records.setdefault(model_id, _Record())
        self._records.move_to_end(model_id)
        record.failures += 1
        if record.failures >= self._failures:
            record.open_until = now + self._rest_seconds
        if len(self._records) > MAX_MODELS:
            self._records.popitem(last=False)

    def statistics(self, now: float) -> CompactionStatistics:
        """Return the counts for an operator."""
        resting = tuple(model_id for model_id in self._records if not self.allows(model_id, now))
        return CompactionStatistics(self._succeeded, self._failed, resting)
