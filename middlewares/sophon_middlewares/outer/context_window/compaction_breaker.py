"""Circuit breaker for compaction: skips summaries for a model after repeated failures."""

from collections import OrderedDict

from sophon._python.lazy_dataclass import dataclass

FAILURE_THRESHOLD = 3
OPEN_SECONDS = 60.0
"""The breaker opens for a minute after three failures in a row. Source: ClawDesk, context guard."""

MAX_MODELS = 256


@dataclass(slots=True)
class _Record:
    failures: int = 0
    open_until: float = 0.0


class CompactionBreaker:
    """Per model: opens after `FAILURE_THRESHOLD` failures in a row; then only truncation is used for `OPEN_SECONDS`.

    When that time is over, one try is allowed, and its failure opens the breaker again. `now` is in seconds of a
    monotonic clock. Beyond 256 failing models the one that failed longest ago is evicted.
    """

    __slots__ = ("_records",)

    def __init__(self) -> None:
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def allows(self, model_id: str, now: float) -> bool:
        """Return whether a summary may be requested."""
        record = self._records.get(model_id)
        return record is None or now >= record.open_until

    def record_success(self, model_id: str) -> None:
        """Record a summary that saved tokens."""
        self._records.pop(model_id, None)

    def record_failure(self, model_id: str, now: float) -> None:
        """Record a failure: an error, a timeout, an empty or too long summary."""
        record = self._records.setdefault(model_id, _Record())
        self._records.move_to_end(model_id)
        record.failures += 1
        if record.failures >= FAILURE_THRESHOLD:
            record.open_until = now + OPEN_SECONDS
        if len(self._records) > MAX_MODELS:
            self._records.popitem(last=False)
