"""Works off the ledger of one channel: each chat in its order, chats beside each other, and no limit is waited out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from sophon.clock import Clock
from sophon.errors import IllegalTransition
from sophon.stores.outbound_contracts import OutboundEntry, OutboundLedger
from sophon_channels.contract import Channel, Doubtful, Migrated, Receipt, Refused, Sent, Undeliverable

log = logging.getLogger("sophon")

AT_ONCE = 20
"""Chats that are served at the same time."""

LOOK_SECONDS = 5.0
"""What another process has written is found after this time at the latest."""

MOST_DOUBTFUL = 3
"""Tries of what may have arrived unseen. Source: reference/channels.md, rule 2."""

LASTS = timedelta(hours=24)
"""What could not be sent for so long is not sent any more."""

FAILED_PAUSE_SECONDS = 5.0

Moved = Callable[[str, str], Awaitable[None]]
Ready = Callable[[OutboundEntry], Awaitable[None]]


class Delivery:
    """Sends what the ledger holds for a channel, until it is cancelled.

    `moved` hears of a chat that has a new id; `ready` is waited for before an entry is sent.
    """

    def __init__(self, channel: Channel, ledger: OutboundLedger, clock: Clock, *, moved: Moved, ready: Ready) -> None:
        self._channel, self._ledger, self._clock = channel, ledger, clock
        self._moved, self._ready = moved, ready
        self._news = asyncio.Event()
        self._held_until: datetime | None = None

    def wake(self) -> None:
        """There is something to send."""
        self._news.set()

    async def run(self) -> None:
        """First what a killed process left in doubt, then whatever is due."""
        while True:
            try:
                await self._ledger.interrupted(self._channel.name)
                while True:
                    self._news.clear()
                    if not await self._round():
                        await self._wait()
            except Exception:
                log.exception("the answers of %s could not be worked off; another try follows", self._channel.name)
                await self._clock.sleep(FAILED_PAUSE_SECONDS)

    async def _round(self) -> bool:
        """Whether anything was sent; then there may be more."""
        now = self._clock.now()
        if self._held_until is not None and self._held_until > now:
            return False
        due = await self._ledger.due(now, self._channel.name, AT_ONCE)
        await asyncio.gather(*(self._serve(entry) for entry in due))
        return bool(due)

    async def _wait(self) -> None:
        """Until there is news, or another process may have written something, or a limit is over."""
        try:
            async with self._clock.timeout(LOOK_SECONDS):
                await self._news.wait()
        except TimeoutError:
            return

    async def _serve(self, entry: OutboundEntry) -> None:
        if self._too_late(entry):
            await self._ledger.dead(entry.id, entry.last_error or "it could not be sent in time")
            log.warning("%s: %s is not sent any more: %s", self._channel.name, entry.id, entry.last_error)
            return
        await self._ready(entry)
        try:
            taken = await self._ledger.sending(entry.id)
        except IllegalTransition:  # somebody else has it
            return
        await self._note(taken, await self._sent(taken))

    async def _sent(self, entry: OutboundEntry) -> Receipt:
        try:
            return await self._channel.send(entry)
        except Exception as error:
            log.exception("%s: %s could not be sent", self._channel.name, entry.id)
            return Doubtful(f"{type(error).__name__} while it was sent")

    def _too_late(self, entry: OutboundEntry) -> bool:
        begun = entry.created_at or self._clock.now()
        if entry.doubtful and entry.attempts >= MOST_DOUBTFUL:
            return True
        return entry.attempts > 0 and self._clock.now() - begun > LASTS

    async def _note(self, entry: OutboundEntry, receipt: Receipt) -> None:
        now = self._clock.now()
        match receipt:
            case Sent(platform_id):
                await self._ledger.sent(entry.id, platform_id)
            case Refused(error, retry_after, everywhere):
                await self._ledger.refused(entry.id, now + retry_after, error)
                if everywhere:
                    self._held_until = max(now + retry_after, self._held_until or now)
            case Doubtful(error):
                await self._ledger.ambiguous(entry.id, error, retry_at=now + timedelta(seconds=2**entry.attempts))
                log.warning("%s: nobody knows whether %s arrived: %s", self._channel.name, entry.id, error)
            case Undeliverable(error, _):
                await self._ledger.dead(entry.id, error)
                log.warning("%s: %s cannot be delivered: %s", self._channel.name, entry.id, error)
            case Migrated(chat):
                await self._migrate(entry, chat)

    async def _migrate(self, entry: OutboundEntry, chat: str) -> None:
        """Once more, to where the chat is now; a second move of the same entry is its end."""
        old, chat = entry.chat.partition("/")[0], chat.partition("/")[0]
        await self._moved(old, chat)
        await self._ledger.dead(entry.id, f"the chat is {chat} now")
        if not entry.id.endswith("@moved"):
            again = replace(entry, id=f"{entry.id}@moved", chat=chat + entry.chat.removeprefix(old), not_before=None)
            await self._ledger.add([again])
            self.wake()
