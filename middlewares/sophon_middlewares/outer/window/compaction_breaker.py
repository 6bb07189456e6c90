"""Keeps a conversation from waiting again and again for a summary that does not come."""

from collections import OrderedDict
from dataclasses import dataclass

FAILURES = 3
REST_SECONDS = 60.0
"""Three failures in a row, then a minute without a try. Source: reference/clawdesk.md 1.3."""

KNOWN_MODELS = 256


@dataclass(frozen=True, slots=True)
class CompactionStatistics:
    """Since the process began; `resting` are the ids of the models that are spared at the moment."""

    succeeded: int
    failed: int
    resting: tuple[str, ...]


@dataclass(slots=True)
class _Record:
    failures: int = 0
    rests_until: float = 0.0


class CompactionBreaker:
    """Per model: after so many failures in a row there are no summaries for a while, only truncation.

    After the rest one try is due, and its failure begins the next rest. `now` is in seconds that never go back. Of
    more than 256 failing models the one that failed longest ago is forgotten.
    """

    __slots__ = ("_failed", "_failures", "_records", "_rest_seconds", "_succeeded")

    def __init__(self, failures: int = FAILURES, rest_seconds: float = REST_SECONDS) -> None:
        self._failures = failures
        self._rest_seconds = rest_seconds
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._succeeded = 0
        self._failed = 0

    def allows(self, model_id: str, now: float) -> bool:
        """Whether a summary may be asked for."""
        record = self._records.get(model_id)
        return record is None or now >= record.rests_until

    def succeed(self, model_id: str) -> None:
        """There was a summary, and it helped."""
        self._succeeded += 1
        self._records.pop(model_id, None)

    def fail(self, model_id: str, now: float) -> None:
        """There was none: an error, the time limit, an empty text."""
        self._failed += 1
        record = self._records.setdefault(model_id, _Record())
        self._records.move_to_end(model_id)
        record.failures += 1
        if record.failures >= self._failures:
            record.rests_until = now + self._rest_seconds
        if len(self._records) > KNOWN_MODELS:
            self._records.popitem(last=False)

    def statistics(self, now: float) -> CompactionStatistics:
        """What an operator sees."""
        resting = tuple(model_id for model_id in self._records if not self.allows(model_id, now))
        return CompactionStatistics(self._succeeded, self._failed, resting)
