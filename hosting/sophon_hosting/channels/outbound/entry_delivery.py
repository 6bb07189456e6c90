"""Delivery of one outbound entry: sends it through the channel and stores what became of it."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol

from sophon.clock import Clock
from sophon.errors import IllegalTransition, NotFound, StoreError
from sophon.failure_log import log_failure
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import (
    EntrySender,
    SendAmbiguous,
    SendChatMigrated,
    SendDeferred,
    SendPostponed,
    SendResult,
    SendSucceeded,
    SendUnauthorized,
    SendUndeliverable,
)
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.direct_chat_recipients import RECIPIENT_CHANGED
from sophon_hosting.channels.outbound.closed_reply_windows import find_reason
from sophon_hosting.channels.outbound.outbox_dead_letters import mark_dead
from sophon_hosting.channels.outbound.retry_rules import (
    UndeliveredReason,
    ambiguous_delay,
    describe_doubt,
    is_exhausted,
    is_expired,
)
from sophon_hosting.store.outbox.sql import Outbox

log = logging.getLogger("sophon")

MIGRATED_SUFFIX = "@moved"
"""Suffix of the id of an entry that is sent again after its chat has migrated."""

RETRY_SECONDS = 5.0
"""Delay before the next attempt after an error of the store."""

ChatMigrationHandler = Callable[[str, str], Awaitable[None]]
"""Called with the old and the new id of a chat that has migrated."""
ChatFinder = Callable[[OutboundEntry], Awaitable[str | None]]
"""Awaited before an entry is sent; returns the chat that reaches its recipient now, None if there is none."""
HoldFinder = Callable[[OutboundEntry], Awaitable[datetime | None]]
"""Awaited before an entry is sent; returns until when it is held back, None if it is sent now."""
PayloadRefresher = Callable[[OutboundEntry], Awaitable[Mapping[str, Any] | None]]
"""Awaited before an entry is sent; returns a payload that replaces the stored one, or None."""


class DeliveryListener(Protocol):
    """Listener to the end of deliveries; see `UndeliveredAnswers`."""

    async def give_up(self, entry: OutboundEntry, reason: UndeliveredReason, error: str) -> Sequence[OutboundEntry]:
        """Store an entry, and with it other parts of its message, as dead letters, and what reports them.

        Return the dead letters. May be called again after a crash.
        """
        ...

    async def handle_undelivered(self, entries: Sequence[OutboundEntry], reason: UndeliveredReason) -> None:
        """Called after entries, the parts of one message, were given up."""
        ...

    async def handle_sent(self, entry: OutboundEntry) -> None:
        """Called after an entry was sent."""
        ...


class _Departure:
    """`BeforeRequest` of one send: marks the entry as sending when its request leaves, with the payload that leaves."""

    def __init__(self, outbox: Outbox, entry_id: str, payload: Mapping[str, Any] | None) -> None:
        self._outbox, self._entry_id, self._payload = outbox, entry_id, payload
        self.has_left = False
        self.error: Exception | None = None

    async def __call__(self) -> None:
        if self.has_left:
            return
        try:
            await self._outbox.mark_sending(self._entry_id, self._payload)
        except Exception as error:
            self.error = error
            raise
        self.has_left = True


class SendGate(Protocol):
    """Receiver of what a result says about the whole account."""

    def pause(self, until: datetime) -> None:
        """Start no sends before `until`: a limit of the whole account."""
        ...

    def reject(self) -> None:
        """Start no sends: the platform rejects the credential."""
        ...


class EntryDelivery:
    """Delivers single entries of one channel; errors of the store are retried."""

    def __init__(
        self,
        channel: EntrySender,
        outbox: Outbox,
        clock: Clock,
        gate: SendGate,
        *,
        migrate_chat: ChatMigrationHandler,
        refresh_payload: PayloadRefresher,
        find_chat: ChatFinder | None = None,
        find_hold: HoldFinder | None = None,
        listener: DeliveryListener | None = None,
    ) -> None:
        self._find_chat, self._find_hold = find_chat, find_hold
        self._channel, self._outbox, self._clock, self._gate = channel, outbox, clock, gate
        self._migrate_chat, self._refresh_payload, self._listener = migrate_chat, refresh_payload, listener

    async def deliver(self, entry: OutboundEntry) -> None:
        """Send an entry, or give it up, and store the result. Raises errors of the store that came before the send."""
        try:
            chat = entry.chat if self._find_chat is None else await self._find_chat(entry)
            if chat is None:
                await self._give_up(entry, "recipient_changed", RECIPIENT_CHANGED)
            elif chat != entry.chat:
                await self._outbox.readdress(entry.id, chat)  # due there, behind what that chat still waits for
            elif is_exhausted(entry, self._clock.now()):
                await self._give_up(entry, "ambiguous", describe_doubt(entry))
            elif self._find_hold is not None and (until := await self._find_hold(entry)) is not None:
                await self._outbox.hold(entry.id, until)
            else:
                await self._send(entry)
        except (IllegalTransition, NotFound):  # another process sends it, or its session was deleted
            return

    async def _send(self, entry: OutboundEntry) -> None:
        payload = await self._refresh(entry)
        departure = _Departure(self._outbox, entry.id, payload)
        receipt = await self._call_channel(entry if payload is None else replace(entry, payload=payload), departure)
        if not departure.has_left and isinstance(receipt, SendSucceeded | SendAmbiguous):
            await departure()  # a channel that does not announce its requests
        while True:
            try:
                return await self._record_result(entry, receipt)
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

    async def _call_channel(self, entry: OutboundEntry, departure: _Departure) -> SendResult:
        try:
            return await self._channel.send(entry, departure)
        except Exception as error:
            if departure.error is not None:
                raise departure.error from None
            log.exception("%s: %s could not be sent", self._channel.name, entry.id)
            problem = f"{type(error).__name__} while it was sent"
            return (
                SendAmbiguous(problem)
                if departure.has_left
                else SendDeferred(problem, backoff_delay(entry.refusals + 1))
            )

    async def _record_result(self, entry: OutboundEntry, receipt: SendResult) -> None:
        match receipt:
            case SendSucceeded(platform_id):
                sent = await self._outbox.mark_sent(entry.id, platform_id, keep_payload=self._channel.reports_delivery)
                if self._listener is not None:
                    await self._listener.handle_sent(sent)
            case SendUndeliverable(error):
                await self._give_up(entry, find_reason(self._channel, receipt), error)
            case SendChatMigrated(chat):
                await self._migrate(entry, chat)
            case _:
                await self._record_delay(entry, receipt)

    async def _record_delay(
        self, entry: OutboundEntry, receipt: SendPostponed | SendDeferred | SendUnauthorized | SendAmbiguous
    ) -> None:
        """Store the result of an entry that is sent later."""
        now = self._clock.now()
        match receipt:
            case SendPostponed(retry_after, everywhere):
                await self._outbox.postpone(entry.id, now + retry_after)
                if everywhere:
                    self._gate.pause(now + retry_after)
            case SendDeferred(error, retry_after, everywhere):
                if everywhere:
                    self._gate.pause(now + retry_after)
                if is_expired(entry, now):
                    await self._give_up(entry, "expired", error)
                else:
                    await self._outbox.mark_refused(entry.id, now + retry_after, error)
            case SendUnauthorized(error):
                self._gate.reject()
                await self._outbox.mark_refused(entry.id, now, error)
            case SendAmbiguous(error):
                retry_at = now + ambiguous_delay(entry.attempts + 1)
                await self._outbox.mark_ambiguous(entry.id, error, retry_at=retry_at)
                log.warning("%s: it is unknown whether %s arrived: %s", self._channel.name, entry.id, error)

    async def _give_up(self, entry: OutboundEntry, reason: UndeliveredReason, error: str) -> None:
        """End an entry as a dead letter; with it the other parts of its message, if they would end the same way."""
        dead: Sequence[OutboundEntry]
        if self._listener is not None:
            dead = await self._listener.give_up(entry, reason, error)
        else:
            dead = await mark_dead(self._outbox, entry, reason, error)
        counts = self._channel.health.counts
        counts["undelivered"] = counts.get("undelivered", 0) + len(dead)
        log.warning(
            "%s: %s (parts: %d) could not be delivered, %s: %s",
            self._channel.name,
            entry.id,
            len(dead),
            reason,
            dead[0].last_error,
        )
        if self._listener is not None:
            await self._listener.handle_undelivered(dead, reason)

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
        await self._outbox.withdraw(entry.id, f"the chat is {new_chat} now")
