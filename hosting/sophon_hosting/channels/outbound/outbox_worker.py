"""Outbox worker: sends the stored entries of one channel.

Entries of a chat are sent in order, chats concurrently. The worker never waits for a rate limit; it sends the entry
later. An entry becomes `sending` when its request leaves, so that a kill puts only those in doubt that really left.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon_channels.contract import EntrySender
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.channels.outbound.entry_delivery import (
    RETRY_SECONDS,
    ChatFinder,
    ChatMigrationHandler,
    DeliveryListener,
    EntryDelivery,
    HoldFinder,
    PayloadRefresher,
)
from sophon_hosting.host import Host
from sophon_hosting.store.outbox.changes import OutboxChanges
from sophon_hosting.store.outbox.sql import Outbox

log = logging.getLogger("sophon")

MAX_CONCURRENT_CHATS = 20
"""Number of chats that are sent to concurrently."""

OUTBOX_POLL_SECONDS = 10.0
"""Interval at which entries of other processes and jumps of the system's time are noticed; nothing else is polled."""

GROUP_POLL_SECONDS = 1.0
"""The same where other processes of a group add entries: an answer must not wait for ten seconds."""

MIN_WAIT_SECONDS = 0.01
"""Minimum wait: the system's time, which decides what is due, and the timer's may differ a little."""

SHUTDOWN_GRACE_SECONDS = 1.0
"""Grace period at shutdown for sends in flight; a send that takes longer is repeated later, marked as a repeat."""


class OutboxWorker:
    """Worker that sends the outbox of one channel until it is cancelled. A slow chat does not delay other chats.

    Only one process may run it for a channel at a time: it takes entries that it finds in the state `sending` at its
    start for those of a process that was killed.

    `migrate_chat` is called when a chat has a new id; `refresh_payload` is awaited before an entry is sent, and
    before it `find_chat`, which returns the chat that reaches the entry's recipient (default: that of the entry), and
    `find_hold`, which returns until when it is held back (default: not at all).
    `listener` learns what was delivered and what was given up; `on_unauthorized` is called when the platform rejects
    the credential: nothing is sent then until `resume`. `changes` wake the worker.
    """

    def __init__(
        self,
        channel: EntrySender,
        outbox: Outbox,
        clock: Clock,
        *,
        migrate_chat: ChatMigrationHandler,
        refresh_payload: PayloadRefresher,
        poll_seconds: float = OUTBOX_POLL_SECONDS,
        find_chat: ChatFinder | None = None,
        find_hold: HoldFinder | None = None,
        listener: DeliveryListener | None = None,
        on_unauthorized: Callable[[], None] | None = None,
        changes: OutboxChanges | None = None,
    ) -> None:
        self._changes = changes or OutboxChanges()
        self._channel, self._outbox, self._clock, self._on_unauthorized = channel, outbox, clock, on_unauthorized
        self._delivery = EntryDelivery(
            channel,
            outbox,
            clock,
            self,
            migrate_chat=migrate_chat,
            refresh_payload=refresh_payload,
            find_chat=find_chat,
            find_hold=find_hold,
            listener=listener,
        )
        self._wake_event = asyncio.Event()
        self._paused_until: datetime | None = None
        self._is_held = self._must_clear_penalties = False
        self._poll_seconds = poll_seconds
        self._looked_at, self._wait_seconds = clock.now(), poll_seconds
        self._in_flight: dict[str, asyncio.Task[None]] = {}

    def wake(self) -> None:
        """Signal that there may be an entry to send."""
        self._wake_event.set()

    def hold(self) -> None:
        """Start no sends until `resume`: the channel has not started, or has no valid credential."""
        self._is_held = True

    def resume(self, *, clear_penalties: bool = True) -> None:
        """Send again; `clear_penalties` also ends the pause and makes refused entries due."""
        self._is_held = False
        if clear_penalties:
            self._paused_until, self._must_clear_penalties = None, True
        self.wake()

    def pause(self, until: datetime) -> None:
        """Start no sends before `until`."""
        self._paused_until = max(until, self._paused_until or until)

    def reject(self) -> None:
        """Hold, and report that the platform rejects the credential."""
        self.hold()
        if self._on_unauthorized is not None:
            self._on_unauthorized()

    async def run(self) -> None:
        """Mark entries that a crashed process left in flight as ambiguous, then send due entries until cancelled."""
        try:
            # Only at the start: later, entries in the state `sending` are in flight here and would be sent twice.
            while not await self._try(self._recover_interrupted):
                pass
            with self._changes.waking(self.wake):
                while True:
                    self._wake_event.clear()
                    if await self._try(self._start_due) and await self._try(self._find_wait):
                        await self._wait()
        finally:
            await self._drain()

    async def _try(self, action: Callable[[], Awaitable[None]]) -> bool:
        try:
            await action()
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "%s: the outbox could not be processed; it is retried", self._channel.name)
            await self._clock.sleep(RETRY_SECONDS)
            return False
        return True

    async def _recover_interrupted(self) -> None:
        await self._outbox.recover_interrupted(self._channel.name)

    async def _start_due(self) -> None:
        """Start to send the due entries that are not in flight."""
        if self._must_clear_penalties:
            await self._outbox.clear_penalties(self._channel.name)
            self._must_clear_penalties = False
        now, free_slots = self._clock.now(), MAX_CONCURRENT_CHATS - len(self._in_flight)
        self._looked_at = now
        if free_slots <= 0 or self._is_held or (self._paused_until is not None and self._paused_until > now):
            return
        due = await self._outbox.list_due(now, self._channel.name, MAX_CONCURRENT_CHATS)
        for entry in [each for each in due if each.id not in self._in_flight][:free_slots]:
            task = self._in_flight[entry.id] = asyncio.create_task(self._process(entry))
            task.add_done_callback(partial(self._finished, entry.id))

    def _finished(self, entry_id: str, task: asyncio.Task[None]) -> None:
        del self._in_flight[entry_id]
        self.wake()

    async def _wait(self) -> None:
        """Wait for a signal, or until something is due, at most `poll_seconds`."""
        try:
            async with self._clock.timeout(self._wait_seconds):
                await self._wake_event.wait()
        except TimeoutError:
            return

    async def _find_wait(self) -> None:
        """Find out how long to wait: until the next entry is due, or the pause ends."""
        now = self._clock.now()
        wake_at = None
        if not self._is_held and len(self._in_flight) < MAX_CONCURRENT_CHATS:
            is_paused = self._paused_until is not None and self._paused_until > now
            wake_at = (
                self._paused_until
                if is_paused
                else await self._outbox.find_next_due(self._looked_at, self._channel.name)
            )
        seconds = self._poll_seconds if wake_at is None else (wake_at - now).total_seconds()
        self._wait_seconds = min(max(seconds, MIN_WAIT_SECONDS), self._poll_seconds)

    async def _drain(self) -> None:
        tasks = list(self._in_flight.values())
        try:
            async with self._clock.timeout(SHUTDOWN_GRACE_SECONDS):
                await asyncio.gather(*(asyncio.shield(task) for task in tasks), return_exceptions=True)
        except TimeoutError:
            log.info("%s: a send in flight is cancelled at shutdown, and may be repeated", self._channel.name)
        await end_tasks(*tasks)

    async def _process(self, entry: OutboundEntry) -> None:
        try:
            await self._delivery.deliver(entry)
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "%s: %s could not be sent; it is retried", self._channel.name, entry.id)
            await self._clock.sleep(RETRY_SECONDS)


def find_poll_seconds(host: Host) -> float:
    """Return how often a worker looks for entries of other processes."""
    return GROUP_POLL_SECONDS if host.membership.is_shared else OUTBOX_POLL_SECONDS
