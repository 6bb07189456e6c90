"""Rate-limited log: one line per kind and minute, however often something happens."""

import logging
import time
from collections.abc import Callable

INTERVAL_SECONDS = 60.0


class RateLimitedLog:
    """Logs at most one warning per kind and interval; the next one says how many were left out.

    Kinds are fixed words of the code, so their number is bounded.
    """

    def __init__(self, log: logging.Logger, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._log, self._monotonic = log, monotonic
        self._last: dict[str, float] = {}
        self._omitted: dict[str, int] = {}

    def warning(self, kind: str, message: str, *arguments: object, error: BaseException | None = None) -> bool:
        """Log a warning, with the traceback of `error`, unless one of the same kind was logged within the interval.

        Return whether it was logged.
        """
        now = self._monotonic()
        if kind in self._last and now - self._last[kind] < INTERVAL_SECONDS:
            self._omitted[kind] = self._omitted.get(kind, 0) + 1
            return False
        self._last[kind] = now
        omitted = self._omitted.pop(kind, 0)
        suffix = f" ({omitted} more since the last such line)" if omitted else ""
        self._log.warning(f"{message}%s", *arguments, suffix, exc_info=error)
        return True
