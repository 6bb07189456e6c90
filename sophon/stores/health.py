"""Health of a store: whether it can be written, and why not; changes are logged and wake those who wait."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from sophon._python.rate_limited_log import RateLimitedLog
from sophon.errors import StoreUnavailable

log = logging.getLogger("sophon")

REASONS: Final[Mapping[str, str]] = {
    "full": "the disk of the store is full",
    "reserve": "the disk of the store is nearly full",
    "read_only": "the store is read-only",
    "io": "the disk of the store reports an error",
    "locked": "another process keeps it locked",
    "unreachable": "the database server cannot be reached",
    "overloaded": "the database server is out of resources",
    "damaged": "the store is damaged",
}
"""Why a store can be unavailable, by kind, in words that clients may read."""

RESERVE_BYTES = 16 * 2**20
"""Free space below which nothing new is accepted, so that running turns can store their outcome.

A turn of ten tool rounds writes 1.6 MB. Measured.
"""


class StoreHealth:
    """State of one store: available, or the kind of failure. `name` identifies the store in the log.

    A failed operation makes it unavailable, the next successful write available again. Damage stays until the process
    restarts: it does not go away, and more writes may add to it. Too little free space makes it unavailable for
    `check` although writes succeed. One line per change is logged, at most one of each sort per minute.
    """

    def __init__(self, name: str, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.name, self._monotonic = name, monotonic
        self._log = RateLimitedLog(log, monotonic)
        self.kind: str | None = None
        """Why the store is unavailable, a key of `REASONS`; None while it is available."""
        self._failure: str | None = None
        self._is_short_of_space = False
        self._unavailable_since = 0.0
        self._waiters: set[asyncio.Future[None]] = set()
        self.failures: Counter[str] = Counter()
        """Number of failed operations by kind."""

    @property
    def is_available(self) -> bool:
        """Whether new work may start."""
        return self.kind is None

    @property
    def is_writable(self) -> bool:
        """Whether writes are expected to succeed; True also while only the reserve of free space is left."""
        return self._failure is None

    def check(self) -> None:
        """Raise StoreUnavailable unless new work may start."""
        if self.kind is not None:
            raise StoreUnavailable(self.name, self.kind, REASONS[self.kind])

    def record_failure(self, kind: str) -> None:
        """Record that an operation failed."""
        self.failures[kind] += 1
        if self._failure != "damaged":
            self._change(kind, self._is_short_of_space)

    def record_success(self) -> None:
        """Record that a write succeeded."""
        if self._failure is not None and self._failure != "damaged":
            self._change(None, self._is_short_of_space)

    def record_free_space(self, free_bytes: int | None) -> None:
        """Record the free space of the store's disk; None if it is unknown."""
        self._change(self._failure, free_bytes is not None and free_bytes < RESERVE_BYTES)

    async def wait_until_available(self) -> None:
        """Wait until new work may start."""
        while self.kind is not None:
            await self.wait_for_change()

    async def wait_until_writable(self) -> None:
        """Wait until writes are expected to succeed."""
        while not self.is_writable:
            await self.wait_for_change()

    async def wait_for_change(self) -> None:
        """Wait for the next change."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    def _change(self, failure: str | None, is_short_of_space: bool) -> None:
        before = self.kind
        self._failure, self._is_short_of_space = failure, is_short_of_space
        self.kind = failure or ("reserve" if is_short_of_space else None)
        if self.kind == before:
            return
        self._log_change(before)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _log_change(self, before: str | None) -> None:
        now = self._monotonic()
        if before is None:
            self._unavailable_since = now
        if self.kind is None:
            seconds = now - self._unavailable_since
            self._log.warning("available", "the store %s is available again after %.0f s", self.name, seconds)
        else:
            self._log.warning(
                self.kind,
                "the store %s is unavailable: %s; messages are refused, and no turn starts, until it can be written",
                self.name,
                REASONS[self.kind],
            )
