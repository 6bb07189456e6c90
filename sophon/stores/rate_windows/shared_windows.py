"""Rate windows of several processes: each reservation is counted in the store, in one transaction over all of them."""

import asyncio
import logging
from collections.abc import Sequence

from sophon.errors import StoreError
from sophon.failure_log import log_failure
from sophon.security.sliding_windows import (
    LoadTimes,
    RateExceeded,
    RateLimit,
    Reservation,
    SlidingWindows,
    Time,
)
from sophon.stores.rate_windows.contract import RateWindowStore

log = logging.getLogger("sophon")


class SharedWindows(SlidingWindows):
    """Windows of a group of processes, exact over all of them, for the price of a write per reservation.

    A reserved event is stored at once and deleted if it does not happen, so nothing is left to be stored with it. One
    that a killed process has reserved counts until its window is over.
    """

    def __init__(self, store: RateWindowStore) -> None:
        super().__init__()
        self._store = store
        self._cancelling: set[asyncio.Task[None]] = set()

    def reserve_known(self, limits: Sequence[RateLimit], time: Time) -> Reservation | RateExceeded | None:
        """Return None, for the store must be asked; without limits an empty reservation."""
        return None if limits else Reservation((), ())

    async def reserve(self, limits: Sequence[RateLimit], time: Time, load: LoadTimes) -> Reservation | RateExceeded:
        """See `SlidingWindows.reserve`. Raises StoreError."""
        if not limits:
            return Reservation((), ())
        reserved = await self._store.reserve(limits)
        return reserved if isinstance(reserved, RateExceeded) else StoredReservation(self, limits, reserved)

    def cancel(self, numbers: Sequence[int]) -> None:
        """Delete reserved events in the background."""
        task = asyncio.get_running_loop().create_task(self._cancel(numbers))
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel(self, numbers: Sequence[int]) -> None:
        try:
            await self._store.cancel(numbers)
        except StoreError as error:
            log_failure(log, error, "what was not used counts in the rate limits until its window is over")


class StoredReservation(Reservation):
    """Reservation of events that the store has."""

    __slots__ = ("_numbers", "_shared")

    is_stored = True

    def __init__(self, windows: SharedWindows, limits: Sequence[RateLimit], numbers: Sequence[int]) -> None:
        super().__init__(limits, ())
        self._shared, self._numbers = windows, numbers

    def use(self, now: float, counted: Sequence[RateLimit] | None = None) -> list[tuple[RateLimit, int]]:
        """Let the events count, those of the `counted` limits; the others are deleted.

        Returns nothing: how many events a limit has over all processes is not asked for.
        """
        if counted is None:
            self._numbers = ()
        else:
            of_limits = zip(self.limits, self._numbers, strict=False)  # without numbers after `release`
            self._numbers = [number for limit, number in of_limits if limit not in counted]
        self.release()
        return []

    def release(self) -> None:
        """Delete the events that have not happened; idempotent."""
        numbers, self._numbers = self._numbers, ()
        if numbers:
            self._shared.cancel(numbers)
