"""Outbox worker: sends the stored entries of one channel.

Entries of a chat are sent in order, chats concurrently. The worker never waits for a rate limit; it sends the entry
later.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sophon.clock import Clock
from sophon.errors import IllegalTransition, NotFound, StoreError
from sophon.failure_log import log_failure
from sophon.stores.outbox.contract import OutboundEntry, Outbox
from sophon_channels.contract import (
    Channel,
    SendAmbiguous,
    SendChatMigrated,
    SendDeferred,
    SendResult,
    SendSucceeded,
    SendUndeliverable,
)

log = logging.getLogger("sophon")

MIGRATED_SUFFIX = "@moved"
"""Suffix of the id of an entry that is sent again after its chat has migrated."""

MAX_CONCURRENT_CHATS = 20
"""Number of chats that are sent to concurrently."""

OUTBOX_POLL_SECONDS = 5.0
"""Interval at which entries written by other processes are found."""

MAX_AMBIGUOUS_ATTEMPTS = 3
"""Maximum attempts for an entry that may have arrived. Source: reference/channels.md, rule 2."""

MAX_ENTRY_AGE = timedelta(hours=24)
"""Age after which an entry that was refused becomes a dead letter."""

RETRY_SECONDS = 5.0
"""Delay before the next attempt after an error of the store."""

SHUTDOWN_GRACE_SECONDS = 1.0
"""Grace period at shutdown for sends in flight; a send that takes longer is repeated later, marked as a repeat."""

ChatMigrationHandler = Callable[[str, str], Awaitable[None]]
"""Called with the old and the new id of a chat that has migrated."""
PayloadRefresher = Callable[[OutboundEntry], Awaitable[Mapping[str, Any] | None]]
"""Awaited before an entry is sent; returns a payload that replaces the stored one, or None."""
RefusalReporter = Callable[[OutboundEntry, str], Awaitable[None]]
"""Awaited before an entry becomes a dead letter, with the reason; not for a chat that is gone. May be called again."""


class OutboxWorker:
    """Worker that sends the outbox of one channel until it is cancelled. A slow chat does not delay other chats.

    `migrate_chat` is called when a chat has a new id; `refresh_payload` is awaited before an entry is sent,
    `report_refusal` before one becomes a dead letter.
    """

    def __init__(
        self,
        channel: Channel,
        outbox: Outbox,
        clock: Clock,
        *,
        migrate_chat: ChatMigrationHandler,
        refresh_payload: PayloadRefresher,
        report_refusal: RefusalReporter | None = None,
    ) -> None:
        self._channel, self._outbox, self._clock = channel, outbox, clock
        self._migrate_chat, self._refresh_payload = migrate_chat, refresh_payload
        self._report_refusal = report_refusal
        self._wake_event = asyncio.Event()
        self._paused_until: datetime | None = None
        self._in_flight: dict[str, asyncio.Task[None]] = {}

    def wake(self) -> None:
        """Signal that there may be an entry to send."""
        self._wake_event.set()

    async def run(self) -> None:
        """Mark entries that a crashed process left in flight as ambiguous, then send due entries until cancelled."""
        try:
            # Only at the start: later, entries in the state `sending` are in flight here and would be sent twice.
            while not await self._try(self._recover_interrupted):
                pass
            while True:
                self._wake_event.clear()
                if await self._try(self._start_due):
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
        now, free_slots = self._clock.now(), MAX_CONCURRENT_CHATS - len(self._in_flight)
        if free_slots <= 0 or (self._paused_until is not None and self._paused_until > now):
            return
        due = await self._outbox.list_due(now, self._channel.name, MAX_CONCURRENT_CHATS)
        for entry in [each for each in due if each.id not in self._in_flight][:free_slots]:
            task = self._in_flight[entry.id] = asyncio.create_task(self._process(entry))
            task.add_done_callback(partial(self._finished, entry.id))

    def _finished(self, entry_id: str, task: asyncio.Task[None]) -> None:
        del self._in_flight[entry_id]
        self.wake()

    async def _wait(self) -> None:
        """Wait for a signal, at most `OUTBOX_POLL_SECONDS`."""
        try:
            async with self._clock.timeout(OUTBOX_POLL_SECONDS):
                await self._wake_event.wait()
        except TimeoutError:
            return

    async def _drain(self) -> None:
        tasks = list(self._in_flight.values())
        try:
            async with self._clock.timeout(SHUTDOWN_GRACE_SECONDS):
                await asyncio.gather(*(asyncio.shield(task) for task in tasks), return_exceptions=True)
        except TimeoutError:
            log.info("%s: a send in flight is cancelled at shutdown, and may be repeated", self._channel.name)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _process(self, entry: OutboundEntry) -> None:
        try:
            if self._is_expired(entry):
                reason = entry.last_error or "it could not be sent in time"
                await self._report(entry, reason)
                await self._outbox.mark_dead(entry.id, reason)
                log.warning("%s: %s is given up: %s", self._channel.name, entry.id, entry.last_error)
            else:
                await self._send(entry)
        except (IllegalTransition, NotFound):  # another process sends it, or its session was deleted
            return
        except Exception as error:  # noqa: BLE001 - logged, and tried again
            log_failure(log, error, "%s: %s could not be sent; it is retried", self._channel.name, entry.id)
            await self._clock.sleep(RETRY_SECONDS)

    async def _send(self, entry: OutboundEntry) -> None:
        payload = await self._refresh(entry)
        sending_entry = await self._outbox.mark_sending(entry.id)
        receipt = await self._call_channel(
            sending_entry if payload is None else replace(sending_entry, payload=payload)
        )
        while True:
            try:
                return await self._record_result(sending_entry, receipt)
            except (IllegalTransition, NotFound):
                raise
            except Exception as error:  # noqa: BLE001 - logged; a result that is not stored would repeat the send
                log_failure(
                    log,
                    error,
                    "%s: the result of sending %s could not be stored; it is retried",
                    self._channel.name,
                    entry.id,
                )
                await self._clock.sleep(RETRY_SECONDS)

    async def _refresh(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """Return the refreshed payload; if that fails, the entry is sent with the stored one."""
        try:
            return await self._refresh_payload(entry)
        except StoreError:
            raise
        except Exception:
            log.exception("%s: %s is sent with its stored payload", self._channel.name, entry.id)
            return None

    async def _call_channel(self, entry: OutboundEntry) -> SendResult:
        try:
            return await self._channel.send(entry)
        except Exception as error:
            log.exception("%s: %s could not be sent", self._channel.name, entry.id)
            return SendAmbiguous(f"{type(error).__name__} while it was sent")

    def _is_expired(self, entry: OutboundEntry) -> bool:
        created_at = entry.created_at or self._clock.now()
        if entry.doubtful and entry.attempts >= MAX_AMBIGUOUS_ATTEMPTS:
            return True
        return entry.attempts > 0 and self._clock.now() - created_at > MAX_ENTRY_AGE

    async def _record_result(self, entry: OutboundEntry, receipt: SendResult) -> None:
        now = self._clock.now()
        match receipt:
            case SendSucceeded(platform_id):
                await self._outbox.mark_sent(entry.id, platform_id)
            case SendDeferred(error, retry_after, everywhere):
                await self._outbox.mark_refused(entry.id, now + retry_after, error)
                if everywhere:
                    self._paused_until = max(now + retry_after, self._paused_until or now)
            case SendAmbiguous(error):
                await self._outbox.mark_ambiguous(entry.id, error, retry_at=now + timedelta(seconds=2**entry.attempts))
                log.warning("%s: it is unknown whether %s arrived: %s", self._channel.name, entry.id, error)
            case SendUndeliverable(error, is_chat_gone):
                if not is_chat_gone:
                    await self._report(entry, error)
                await self._outbox.mark_dead(entry.id, error)
                log.warning("%s: %s cannot be delivered: %s", self._channel.name, entry.id, error)
            case SendChatMigrated(chat):
                await self._migrate(entry, chat)

    async def _report(self, entry: OutboundEntry, reason: str) -> None:
        if self._report_refusal is not None:
            await self._report_refusal(entry, reason)

    async def _migrate(self, entry: OutboundEntry, new_chat: str) -> None:
        """Send the entry once more to the chat's new id; a second migration of the same entry ends it."""
        old_chat, new_chat = entry.chat.partition("/")[0], new_chat.partition("/")[0]
        await self._migrate_chat(old_chat, new_chat)
        if not entry.id.endswith(MIGRATED_SUFFIX):
            # Added before this one is given up, so that a crash in between loses nothing.
            repeated = replace(
                entry, id=entry.id + MIGRATED_SUFFIX, chat=new_chat + entry.chat.removeprefix(old_chat), not_before=None
            )
            await self._outbox.add([repeated])
        await self._outbox.mark_dead(entry.id, f"the chat is {new_chat} now")
