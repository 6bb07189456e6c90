"""Merging of messages into one: the pieces of an album, and quick messages; a received piece survives a crash."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon.failure_log import log_failure
from sophon_channels.contract import Channel, InboundMessage
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.channels.chat_state import ACCEPTED_AS, PROCESSED_KIND
from sophon_hosting.channels.inbound.message_json import message_from_json, message_to_json
from sophon_hosting.key_locks import KeyLocks
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")

PIECE_KIND = "piece"
"""Kind of the note that stores a piece."""
RETRY_SECONDS = 5.0
"""Delay before the next attempt after an error."""
GATHER_SECONDS = 0.5
"""How long to wait for a further piece after the last one."""
RESUMED_GATHER_SECONDS = 3.0
"""The same for a group that an earlier process stored: the platform delivers the rest only when it is asked again."""
MAX_GATHER_SECONDS = 5.0
"""How long to wait in total, from the first piece."""
MAX_PIECES = 10
"""Pieces of a full group, which is passed on at once. Source: Telegram Bot API."""
MAX_DEBOUNCE_SECONDS = 60.0
"""How long quick messages of one person are joined in total, from the first."""
MAX_QUICK_MESSAGES = 20
"""Quick messages that become one message at most. Source: the cap of OpenClaw's queue."""

FLUSH_TIMEOUT_SECONDS = 10.0
"""How long a message waits until the quick messages before it are stored; then the platform delivers it again."""

QUICK_PREFIX = "quick "
"""Prefix of the group's id for quick messages; no platform has such ids."""

MergedMessageHandler = Callable[[InboundMessage, Sequence[InboundMessage]], Awaitable[None]]
"""Handles a merged message, given its pieces."""


class MessageMerger:
    """Assembler of one channel's media groups: stores the pieces and passes on merged messages.

    With `debounce_seconds`, texts that a person writes within that time after one another are a group too.
    """

    def __init__(
        self,
        channel: Channel,
        store: HostStore,
        clock: Clock,
        handle_message: MergedMessageHandler,
        *,
        debounce_seconds: float = 0.0,
    ) -> None:
        self._debounce_seconds = debounce_seconds
        self._channel, self._notes, self._clock, self._handle_message = (
            channel,
            store.channel_state,
            clock,
            handle_message,
        )
        self._health = store.health
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._resumed: set[str] = set()
        self._arrived: dict[str, set[str]] = {}
        """Ids of the pieces that arrived and are not passed on yet, by group."""
        self._last_arrivals: dict[str, float] = {}
        self._wakers: dict[str, asyncio.Event] = {}
        self._locks = KeyLocks[str]()
        """Held while a group is passed on, or one of its pieces is replaced."""

    def assign_quick_group(self, message: InboundMessage) -> InboundMessage:
        """Return the message with its group, if it is a text that may be joined with others of the person. Pure."""
        if self._debounce_seconds <= 0 or not is_joinable(message):
            return message
        return replace(message, media_group_id=f"{QUICK_PREFIX}{message.person.id}")

    async def flush_quick_messages(self, message: InboundMessage) -> None:
        """Pass on what the person has written in the chat before this message, so that the order stays."""
        group = _group_key(replace(message, media_group_id=f"{QUICK_PREFIX}{message.person.id}"))
        task = self._tasks.get(group)
        if task is None:
            return
        self._wakers.setdefault(group, asyncio.Event()).set()
        try:
            async with self._clock.timeout(FLUSH_TIMEOUT_SECONDS):
                await asyncio.wait({task})
        except TimeoutError:
            raise StoreError(self._channel.name, "the messages before this one could not be stored yet") from None

    async def replace_piece(self, message: InboundMessage) -> bool:
        """Replace a piece that waits by its edited version; return False if none waits."""
        key = (self._channel.name, self._channel.account, PIECE_KIND, message.external_id)
        note = await self._notes.get(*key)
        if note is None:
            return False
        edited = replace(message, media_group_id=message_from_json(note.value).media_group_id)
        async with self._locks.of(_group_key(edited)):
            if await self._notes.get(*key) is None:  # passed on meanwhile
                return False
            await self._notes.put(ChannelStateEntry(*key, message_to_json(edited)))
            return True

    async def add_pieces(self, pieces: Sequence[InboundMessage]) -> None:
        """Store pieces; they are durable on return."""
        if not pieces:
            return
        name, account = self._channel.name, self._channel.account
        # One that is delivered again may have been edited meanwhile.
        known = await self._notes.find_keys(name, account, PIECE_KIND, [piece.external_id for piece in pieces])
        await self._notes.put_many(
            [
                ChannelStateEntry(name, account, PIECE_KIND, piece.external_id, message_to_json(piece))
                for piece in pieces
                if piece.external_id not in known
            ]
        )
        for piece in pieces:
            self._schedule(_group_key(piece), piece.external_id)

    async def resume(self) -> None:
        """Resume the groups that an earlier process stored but did not pass on; call it once the channel runs."""
        for piece in await self._stored_pieces():
            self._resumed.add(_group_key(piece))
            self._schedule(_group_key(piece), piece.external_id)

    async def stop(self) -> None:
        """Stop to wait for pieces; stored pieces are passed on after the next start."""
        await end_tasks(*self._tasks.values())

    def _schedule(self, album: str, piece_id: str) -> None:
        self._arrived.setdefault(album, set()).add(piece_id)
        self._last_arrivals[album] = self._clock.monotonic()
        if album in self._wakers and len(self._arrived[album]) >= self._find_limits(album)[2]:
            self._wakers[album].set()
        if album not in self._tasks:
            self._tasks[album] = asyncio.create_task(self._process(album))

    async def _process(self, album: str) -> None:
        """Pass on the group, again if further pieces arrived meanwhile."""
        try:
            while album in self._arrived:
                await self._wait_for_pieces(album)
                self._wakers.pop(album, None)
                pieces = self._arrived.pop(album)
                try:
                    await self._pass_on(album)
                except Exception as error:  # noqa: BLE001 - logged, and tried again
                    log_failure(
                        log, error, "%s: a media group could not be passed on; it is retried", self._channel.name
                    )
                    self._arrived.setdefault(album, set()).update(pieces)
                    await self._clock.sleep(RETRY_SECONDS)
                    await self._health.wait_until_available()
        finally:
            del self._tasks[album], self._last_arrivals[album]
            self._wakers.pop(album, None)

    async def _wait_for_pieces(self, album: str) -> None:
        """Wait until no piece has arrived for a while, the group is full or is to be flushed, or its time is over."""
        started_at = self._clock.monotonic()
        quiet_seconds, max_seconds, max_pieces = self._find_limits(album)
        self._resumed.discard(album)
        waker = self._wakers.setdefault(album, asyncio.Event())
        while len(self._arrived[album]) < max_pieces and not waker.is_set():
            deadline = min(self._last_arrivals[album] + quiet_seconds, started_at + max_seconds)
            remaining = deadline - self._clock.monotonic()
            if remaining <= 0:
                return
            with suppress(TimeoutError):
                async with self._clock.timeout(remaining):
                    await waker.wait()

    def _find_limits(self, album: str) -> tuple[float, float, int]:
        """Return how long to wait for another piece and in total, in seconds, and how many pieces are enough."""
        quiet_seconds = RESUMED_GATHER_SECONDS if album in self._resumed else GATHER_SECONDS
        if f" {QUICK_PREFIX}" not in album:
            return quiet_seconds, MAX_GATHER_SECONDS, MAX_PIECES
        return max(self._debounce_seconds, quiet_seconds), MAX_DEBOUNCE_SECONDS, MAX_QUICK_MESSAGES

    async def _pass_on(self, album: str) -> None:
        async with self._locks.of(album):
            pieces = sort_pieces([piece for piece in await self._stored_pieces() if _group_key(piece) == album])
            new_pieces = [piece for piece in pieces if not await self._is_processed(piece)]
            if new_pieces:
                await self._handle_message(merge_pieces(new_pieces), new_pieces)
            # The merged message has the id of the first piece. That piece is removed last, so that after a crash here
            # the merged message is recognized as a duplicate.
            value = {ACCEPTED_AS: new_pieces[0].external_id} if new_pieces else {}
            for piece in reversed(pieces):
                await self._notes.add(
                    ChannelStateEntry(
                        self._channel.name, self._channel.account, PROCESSED_KIND, piece.external_id, value
                    )
                )
                await self._notes.remove(self._channel.name, self._channel.account, PIECE_KIND, piece.external_id)

    async def _stored_pieces(self) -> list[InboundMessage]:
        notes = await self._notes.list(PIECE_KIND, self._channel.name, self._channel.account)
        return [message_from_json(note.value) for note in notes]

    async def _is_processed(self, piece: InboundMessage) -> bool:
        """Return whether the piece is a duplicate that arrived while its group was passed on."""
        return (
            await self._notes.get(self._channel.name, self._channel.account, PROCESSED_KIND, piece.external_id)
            is not None
        )


def is_joinable(message: InboundMessage) -> bool:
    """Return whether a message is a text of its sender alone, which others may be joined with. Pure."""
    return bool(message.text.strip()) and not (
        message.attachments
        or message.shared
        or message.unreadable
        or message.is_forwarded
        or message.quoted_text
        or message.quoted_message_id
        or message.media_group_id
        or message.is_late
    )


def is_quick(message: InboundMessage) -> bool:
    """Return whether the message is a piece of quick messages, and not of an album. Pure."""
    return (message.media_group_id or "").startswith(QUICK_PREFIX)


def sort_pieces(pieces: Sequence[InboundMessage]) -> list[InboundMessage]:
    """Return the pieces in the order in which they were sent. Pure.

    Those of an album have numbers, and their platform delivers them in any order; quick messages are in the order in
    which they were received.
    """
    if any(map(is_quick, pieces)):
        return sorted(pieces, key=lambda piece: piece.sent_at)
    return sorted(pieces, key=lambda piece: (len(piece.message_id), piece.message_id))


def merge_pieces(pieces: Sequence[InboundMessage]) -> InboundMessage:
    """Return the pieces of a group as one message, with the id of the first. Pure.

    An answer replies to the first piece of an album, and to the last of several quick messages.
    """
    return replace(
        pieces[0],
        text="\n".join(piece.text for piece in pieces if piece.text),
        message_id=pieces[-1 if is_quick(pieces[0]) else 0].message_id,
        attachments=tuple(file for piece in pieces for file in piece.attachments),
        shared=tuple(text for piece in pieces for text in piece.shared),
        unreadable=next((piece.unreadable for piece in pieces if piece.unreadable), ""),
        is_mention=any(piece.is_mention for piece in pieces),
    )


def _group_key(piece: InboundMessage) -> str:
    """Return the key of the piece's group; it includes the chat, so that nobody in another chat can add to it."""
    return f"{piece.location.key} {piece.media_group_id or piece.external_id}"
