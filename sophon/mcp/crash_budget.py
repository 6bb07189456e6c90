"""Crash budget of an MCP server: how often it may fail before it stays off."""

from collections import deque
from typing import Final

MAX_CRASHES: Final = 5
WINDOW_SECONDS: Final = 60.0
"""Source: reference/openparallax.md 2.14."""

MAX_DELAY_SECONDS: Final = 8.0


class CrashBudget:
    """Counts the failures of one server in a sliding window; `now` is a monotonic time in seconds."""

    def __init__(self) -> None:
        self._failures: deque[float] = deque(maxlen=MAX_CRASHES)

    def record(self, now: float) -> float | None:
        """Count a failure; return the seconds to wait before the next start, None if the budget is used up."""
        while self._failures and now - self._failures[0] >= WINDOW_SECONDS:
            self._failures.popleft()
        self._failures.append(now)
        count = len(self._failures)
        return None if count >= MAX_CRASHES else min(2.0 ** (count - 1), MAX_DELAY_SECONDS)
