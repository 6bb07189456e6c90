"""Works off the ledger of one channel: each chat in its order, chats beside each other, and no limit is waited out."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sophon.clock import Clock
from sophon.errors import IllegalTransition, NotFound, StoreError
from sophon.stores.outbound_contracts import OutboundEntry, OutboundLedger
from sophon_channels.contract import Channel, Doubtful, Migrated, Receipt, Refused, Sent, Undeliverable

log = logging.getLogger("sophon")

MOVED = "@moved"
"""Behind the id of an entry that is sent once more, to where its chat is now."""

AT_ONCE = 20
"""Chats that are served at the same time."""

LOOK_SECONDS = 5.0
"""What another process has written is found after this time at the latest."""

MOST_DOUBTFUL = 3
"""Tries of what may have arrived unseen. Source: reference/channels.md, rule 2."""

LASTS = timedelta(hours=24)
"""What could not be sent for so long is not sent any more."""

FAILED_PAUSE_SECONDS = 5.0

LAST_SECONDS = 1.0
"""What is being sent when the host stops has so long to be told of; what is not is sent again, marked as a repeat."""

Moved = Callable[[str, str], Awaitable[None]]
Ready = Callable[[OutboundEntry], Awaitable[Mapping[str, Any] | None]]
"""Waited for before an entry is sent; gives its payload where that is another by now."""


class Delivery:
    """Sends what the ledger holds for a channel, until it is cancelled. A chat that hangs holds up no other.

    `moved` hears of a chat that has a new id; `ready` is waited for before an entry is sent.
    """

    def __init__(self, channel: Channel, ledger: OutboundLedger, clock: Clock, *, moved: Moved, ready: Ready) -> None:
        self._channel, self._ledger, self._clock = channel, ledger, clock
        self._moved, self._ready = moved, ready
        self._news = asyncio.Event()
        self._held_until: datetime | None = None
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def wake(self) -> None:
        """There is something to send."""
        self._news.set()

    async def run(self) -> None:
        """First what a killed process left in doubt, then whatever is due."""
        try:
            # Only once: later on, what is `sending` is being sent here, and would be sent twice.
            while not await self._succeeds(self._take_over):
                pass
            while True:
                self._news.clear()
                if await self._succeeds(self._round):
                    await self._wait()
        finally:
            await self._let_end()

    async def _succeeds(self, do: Callable[[], Awaitable[None]]) -> bool:
        try:
            await do()
        except Exception:
            log.exception("the answers of %s could not be worked off; another try follows", self._channel.name)
            await self._clock.sleep(FAILED_PAUSE_SECONDS)
            return False
        return True

    async def _take_over(self) -> None:
        await self._ledger.interrupted(self._channel.name)

    async def _round(self) -> None:
        """Begin what is due and not begun; whatever ends looks again."""
        now, room = self._clock.now(), AT_ONCE - len(self._under_way)
        if room <= 0 or (self._held_until is not None and self._held_until > now):
            return
        due = await self._ledger.due(now, self._channel.name, AT_ONCE)
        for entry in [each for each in due if each.id not in self._under_way][:room]:
            task = self._under_way[entry.id] = asyncio.create_task(self._serve(entry))
            task.add_done_callback(partial(self._ended, entry.id))

    def _ended(self, entry_id: str, task: asyncio.Task[None]) -> None:
        del self._under_way[entry_id]
        self.wake()

    async def _wait(self) -> None:
        """Until there is news, or another process may have written something, or a limit is over."""
        try:
            async with self._clock.timeout(LOOK_SECONDS):
                await self._news.wait()
        except TimeoutError:
            return

    async def _let_end(self) -> None:
        tasks = list(self._under_way.values())
        try:
            async with self._clock.timeout(LAST_SECONDS):
                await asyncio.gather(*(asyncio.shield(task) for task in tasks), return_exceptions=True)
        except TimeoutError:
            log.info("%s: what is being sent is cut off, and may be sent again", self._channel.name)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, entry: OutboundEntry) -> None:
        try:
            if self._too_late(entry):
                await self._ledger.dead(entry.id, entry.last_error or "it could not be sent in time")
                log.warning("%s: %s is not sent any more: %s", self._channel.name, entry.id, entry.last_error)
            else:
                await self._send(entry)
        except (IllegalTransition, NotFound):  # somebody else has it, or its conversation was deleted
            return
        except Exception:
            log.exception("%s: %s could not be sent; another try follows", self._channel.name, entry.id)
            await self._clock.sleep(FAILED_PAUSE_SECONDS)

    async def _send(self, entry: OutboundEntry) -> None:
        payload = await self._made_ready(entry)
        taken = await self._ledger.sending(entry.id)
        receipt = await self._sent(taken if payload is None else replace(taken, payload=payload))
        while True:
            try:
                return await self._note(taken, receipt)
            except (IllegalTransition, NotFound):
                raise
            except Exception:  # forgotten, it would be sent once more
                log.exception("%s: what became of %s is not kept yet", self._channel.name, entry.id)
                await self._clock.sleep(FAILED_PAUSE_SECONDS)

    async def _made_ready(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """What fails here keeps nothing from being sent: it goes as it was written."""
        try:
            return await self._ready(entry)
        except StoreError:
            raise
        except Exception:
            log.exception("%s: %s is sent as it was written", self._channel.name, entry.id)
            return None

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
        if not entry.id.endswith(MOVED):
            # Added before this one is given up: a kill in between loses nothing.
            again = replace(entry, id=entry.id + MOVED, chat=chat + entry.chat.removeprefix(old), not_before=None)
            await self._ledger.add([again])
        await self._ledger.dead(entry.id, f"the chat is {chat} now")
