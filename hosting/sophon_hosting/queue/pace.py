"""How soon a full queue has room again, from how long recent tasks took."""

import math
from collections import deque
from collections.abc import Collection

REMEMBERED = 32
SHORTEST_SECONDS, LONGEST_SECONDS = 1, 60


class Pace:
    """The newest completion times. Times and not rates, so that a quiet hour before the rush says nothing about it."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=REMEMBERED)

    def completed(self, seconds: float) -> None:
        """A delivery was acked so long after it was taken."""
        self._seconds.append(seconds)

    def retry_after_seconds(self, in_flight: int, excess: int) -> int:
        """When so many entries more than now will have left, with so many at work."""
        return retry_after_seconds(self._seconds, in_flight, excess)


def retry_after_seconds(completions: Collection[float], in_flight: int, excess: int) -> int:
    """Whole seconds from 1 to 60 until `excess` of the tasks in flight are done; 60 where nothing tells."""
    if not completions or not in_flight:
        return LONGEST_SECONDS
    each = sum(completions) / len(completions)
    return min(max(math.ceil(each * excess / in_flight), SHORTEST_SECONDS), LONGEST_SECONDS)
