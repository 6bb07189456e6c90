"""Leader election: a process of a group holds a lease of the store for each duty that it leads, and renews it.

    free ──acquired──> leading ──not confirmed in time, or lost──> free
      ^                   └──── released when the work has ended ────┘

A leader counts the seconds of a lease by its own monotonic clock, from before the request that was answered. When two
thirds of them have passed without a further confirmation, it cancels its work, so that the last third is left for the
work to end before another process can acquire the lease: two leaders do not overlap, unless a process is stopped by the
system while it leads. That one's work is cancelled when it continues; what it may write then must be idempotent.
"""

import asyncio
import logging
from contextlib import suppress

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.failure_log import log_failure
from sophon.stores.leases.lease import Lease
from sophon.stores.leases.sql import LeaseStore
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.leadership.contract import LeaderWork

log = logging.getLogger("sophon")

LEADER_PREFIX = "leader:"
"""Prefix of the names of leaders' leases."""

LEASE_SECONDS = 9.0
"""Duration of a leader's lease: how long a duty rests at most after its leader was killed, but for one renewal."""


class LeaderElection:
    """Leadership of a process of a group, by leases of the store. `holder` is the id of the process.

    A candidate looks at the leases once per third of `lease_seconds`, all duties with one read, and writes only when
    one is free: so the writes of a group do not grow with the number of its processes.
    """

    def __init__(self, leases: LeaseStore, clock: Clock, holder: str, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._leases, self._clock, self._holder, self._lease_seconds = leases, clock, holder, lease_seconds
        self._interval = lease_seconds / 3
        self._leading: set[str] = set()
        self._seen_at, self._taken = float("-inf"), frozenset[str]()
        self._looking = asyncio.Lock()

    async def lead(self, duty: str, work: LeaderWork) -> None:
        """See `Leadership.lead`."""
        while True:
            since = await self._acquire(duty)
            if since is not None and await self._lead(duty, since, work):
                return
            await self._clock.sleep(self._interval)

    def is_leader(self, duty: str) -> bool:
        """See `Leadership.is_leader`."""
        return duty in self._leading

    def list_duties(self) -> list[str]:
        """See `Leadership.list_duties`."""
        return sorted(self._leading)

    async def _acquire(self, duty: str) -> float | None:
        """Acquire the lease if it is free; return the monotonic time from which it counts, None without it."""
        try:
            if duty in await self._list_taken():
                return None
            asked_at = self._clock.monotonic()
            acquired = await self._acquire_or_release(duty)
        except StoreError as error:
            log_failure(log, error, "the leader of %s could not be found out; the next attempt follows", duty)
            return None
        return None if acquired is None else asked_at

    async def _acquire_or_release(self, duty: str) -> Lease | None:
        """Acquire the lease; a cancelled candidate releases what its request may have acquired. Raises StoreError."""
        try:
            return await self._leases.acquire(f"{LEADER_PREFIX}{duty}", self._holder, self._lease_seconds)
        except asyncio.CancelledError:
            await self._release(duty)  # written after the request, for a store writes in the order it is asked
            raise

    async def _list_taken(self) -> frozenset[str]:
        """Return the duties that other processes lead; one read for all duties of this process."""
        async with self._looking:
            if self._clock.monotonic() - self._seen_at >= self._interval / 2:
                found = await self._leases.list(LEADER_PREFIX)
                self._taken = frozenset(
                    each.name.removeprefix(LEADER_PREFIX) for each in found if each.holder != self._holder
                )
                self._seen_at = self._clock.monotonic()
            return self._taken

    async def _lead(self, duty: str, since: float, work: LeaderWork) -> bool:
        """Run the work while the lease is confirmed; return whether the work has ended by itself."""
        term = _Term(self._clock, since, self._lease_seconds)
        if term.is_over:  # the answer came late
            return False
        log.info("this process leads %s", duty)
        self._leading.add(duty)
        doing: asyncio.Future[None] = asyncio.ensure_future(work())
        keeping = asyncio.create_task(self._renew(duty, term))
        watching = asyncio.create_task(term.wait_until_over())
        try:
            await asyncio.wait((doing, keeping, watching), return_when=asyncio.FIRST_COMPLETED)
            has_ended = doing.done() and not doing.cancelled()
        finally:
            self._leading.discard(duty)
            # The work first: an unanswered renewal may take longer than the lease lasts.
            await end_tasks(doing)
            await end_tasks(watching, keeping)
            await self._release(duty)
        if not has_ended:
            log.warning("this process no longer leads %s: its lease was not confirmed in time", duty)
        elif (error := doing.exception()) is not None:
            log_failure(log, error, "%s failed; it is led again", duty)
            return False
        return has_ended

    async def _renew(self, duty: str, term: "_Term") -> None:
        """Renew the lease until another process has it."""
        pause = self._interval
        while True:
            await self._clock.sleep(pause)
            asked_at, pause = self._clock.monotonic(), self._interval
            try:
                lease = await self._leases.acquire(f"{LEADER_PREFIX}{duty}", self._holder, self._lease_seconds)
            except StoreError as error:
                log_failure(log, error, "the lease of the leader of %s could not be renewed; it is tried again", duty)
                pause = self._interval / 4
                continue
            if lease is None:
                return
            term.confirm(asked_at)

    async def _release(self, duty: str) -> None:
        """Release the lease, so that another process starts at once; does nothing if another has it."""
        with suppress(StoreError):
            await asyncio.shield(self._leases.release(f"{LEADER_PREFIX}{duty}", self._holder))


class _Term:
    """Time for which a leader may work, in monotonic seconds: two thirds of the last confirmed lease."""

    def __init__(self, clock: Clock, since: float, lease_seconds: float) -> None:
        self._clock, self._seconds = clock, lease_seconds * 2 / 3
        self._until = since + self._seconds

    @property
    def is_over(self) -> bool:
        """Whether the work must have been cancelled."""
        return self._clock.monotonic() >= self._until

    def confirm(self, asked_at: float) -> None:
        """Begin anew with a lease that was asked for then."""
        self._until = asked_at + self._seconds

    async def wait_until_over(self) -> None:
        """Wait until the time is over, however often it is confirmed meanwhile."""
        while not self.is_over:
            await self._clock.sleep(self._until - self._clock.monotonic())
