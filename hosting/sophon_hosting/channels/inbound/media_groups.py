"""Media groups (albums): merges the messages of a group into one; a received piece survives a crash."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sophon.clock import Clock
from sophon.failure_log import log_failure
from sophon.stores.channel_state.contract import ChannelStateEntry
from sophon.stores.contract import Store
from sophon_channels.contract import Attachment, Channel, ChatLocation, InboundMessage, Person, SharedText
from sophon_hosting.channels.chat_state import PROCESSED_KIND

log = logging.getLogger("sophon")

PIECE_KIND = "piece"
"""Kind of the note that stores a piece."""
RETRY_SECONDS = 5.0
"""Delay before the next attempt after an error."""
GATHER_SECONDS = 0.5
"""How long to wait for a further piece after the last one. Source: reference/hosts.md."""
RESUMED_GATHER_SECONDS = 3.0
"""The same for a group that an earlier process stored: the platform delivers the rest only when it is asked again."""
MAX_GATHER_SECONDS = 5.0
"""How long to wait in total, from the first piece."""
MAX_PIECES = 10
"""Pieces of a full group, which is passed on at once. Source: reference/channels.md, "Files"."""

MergedMessageHandler = Callable[[InboundMessage], Awaitable[None]]
"""Handles a merged message."""


class MediaGroupAssembler:
    """Assembler of one channel's media groups: stores the pieces and passes on merged messages."""

    def __init__(self, channel: Channel, store: Store, clock: Clock, handle_message: MergedMessageHandler) -> None:
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

    async def add_pieces(self, pieces: Sequence[InboundMessage]) -> None:
        """Store pieces; they are durable on return."""
        if not pieces:
            return
        account = self._channel.account
        await self._notes.put_many(
            [
                ChannelStateEntry(self._channel.name, account, PIECE_KIND, piece.external_id, message_to_json(piece))
                for piece in pieces
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
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _schedule(self, album: str, piece_id: str) -> None:
        self._arrived.setdefault(album, set()).add(piece_id)
        if album not in self._tasks:
            self._tasks[album] = asyncio.create_task(self._process(album))

    async def _process(self, album: str) -> None:
        """Pass on the group, again if further pieces arrived meanwhile."""
        try:
            while album in self._arrived:
                await self._wait_for_pieces(album)
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
            del self._tasks[album]

    async def _wait_for_pieces(self, album: str) -> None:
        """Wait until no piece has arrived for a while, the group is full, or `MAX_GATHER_SECONDS` are over."""
        started_at, count = self._clock.monotonic(), 0
        quiet_seconds = RESUMED_GATHER_SECONDS if album in self._resumed else GATHER_SECONDS
        self._resumed.discard(album)
        while count < len(self._arrived[album]) < MAX_PIECES:
            remaining = started_at + MAX_GATHER_SECONDS - self._clock.monotonic()
            if remaining <= 0:
                return
            count = len(self._arrived[album])
            await self._clock.sleep(min(quiet_seconds, remaining))

    async def _pass_on(self, album: str) -> None:
        pieces = sort_pieces([piece for piece in await self._stored_pieces() if _group_key(piece) == album])
        new_pieces = [piece for piece in pieces if not await self._is_processed(piece)]
        if new_pieces:
            await self._handle_message(merge_pieces(new_pieces))
        # The merged message has the id of the first piece. That piece is removed last, so that after a crash here the
        # merged message is recognized as a duplicate.
        for piece in reversed(pieces):
            await self._notes.add(
                ChannelStateEntry(self._channel.name, self._channel.account, PROCESSED_KIND, piece.external_id)
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


def sort_pieces(pieces: Sequence[InboundMessage]) -> list[InboundMessage]:
    """Return the pieces in the order in which they were sent. Pure."""
    return sorted(pieces, key=lambda piece: (len(piece.message_id), piece.message_id))


def merge_pieces(pieces: Sequence[InboundMessage]) -> InboundMessage:
    """Return the pieces of a media group as one message, with the id of the first. Pure."""
    return replace(
        pieces[0],
        text="\n".join(piece.text for piece in pieces if piece.text),
        attachments=tuple(file for piece in pieces for file in piece.attachments),
        shared=tuple(text for piece in pieces for text in piece.shared),
        unreadable=next((piece.unreadable for piece in pieces if piece.unreadable), ""),
        is_mention=any(piece.is_mention for piece in pieces),
    )


def _group_key(piece: InboundMessage) -> str:
    """Return the key of the piece's group; it includes the chat, so that nobody in another chat can add to it."""
    return f"{piece.location.key} {piece.media_group_id or piece.external_id}"


def message_to_json(message: InboundMessage) -> dict[str, Any]:
    """Return a message as plain JSON, in the stored format."""
    return {
        "external_id": message.external_id,
        "person": asdict(message.person),
        "place": asdict(message.location),
        "text": message.text,
        "message_id": message.message_id,
        "at": message.sent_at.isoformat(),
        "mentioned": message.is_mention,
        "quoted": message.quoted_text,
        "album": message.media_group_id,
        "attachments": tuple(asdict(file) for file in message.attachments),
        "late": message.is_late,
        "forwarded": message.is_forwarded,
        "quoted_author": message.quoted_author,
        "quote_is_foreign": message.is_quote_foreign,
        "quoted_message_id": message.quoted_message_id,
        "forwarded_from": message.forwarded_from,
        "shared": tuple(asdict(text) for text in message.shared),
        "unreadable": message.unreadable,
    }


def message_from_json(data: Mapping[str, Any]) -> InboundMessage:
    """Return the message from what `message_to_json` returned."""
    return InboundMessage(
        external_id=data["external_id"],
        person=_person_from_json(data["person"]),
        location=ChatLocation(**data["place"]),
        text=data["text"],
        message_id=data["message_id"],
        sent_at=datetime.fromisoformat(data["at"]),
        is_mention=data["mentioned"],
        quoted_text=data["quoted"],
        media_group_id=data["album"],
        attachments=tuple(Attachment(**file) for file in data["attachments"]),
        is_late=data["late"],
        # What follows is missing in groups that an earlier version stored.
        is_forwarded=data.get("forwarded", False),
        quoted_author=data.get("quoted_author", ""),
        is_quote_foreign=data.get("quote_is_foreign", True),
        quoted_message_id=data.get("quoted_message_id", ""),
        forwarded_from=data.get("forwarded_from", ""),
        shared=tuple(SharedText(**text) for text in data.get("shared", ())),
        unreadable=data.get("unreadable", ""),
    )


def _person_from_json(data: Mapping[str, Any]) -> Person:
    return replace(Person(**data), listed_ids=tuple(data.get("listed_ids", ())))
