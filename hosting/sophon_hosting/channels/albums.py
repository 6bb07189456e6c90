"""Media groups (albums): merges the messages of a group into one; a received piece survives a crash."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sophon.clock import Clock
from sophon.stores.contracts import Store
from sophon.stores.note_contracts import Note
from sophon_channels.contract import Attachment, Channel, Person, Place, Written
from sophon_hosting.channels.chats import SEEN

log = logging.getLogger("sophon")

PIECE = "piece"
"""Kind of the note that stores a piece."""
FAILED_PAUSE_SECONDS = 5.0
"""Delay before the next attempt after an error."""
GATHER_SECONDS = 0.5
"""How long to wait for further pieces after the first one. Source: reference/hosts.md."""

Accept = Callable[[Written], Awaitable[None]]
"""Handles a merged message."""


class Albums:
    """Assembler of one channel's media groups: stores the pieces and passes on merged messages."""

    def __init__(self, channel: Channel, store: Store, clock: Clock, accept: Accept) -> None:
        self._channel, self._notes, self._clock, self._handle_message = channel, store.notes, clock, accept
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._changed: set[str] = set()

    async def keep(self, piece: Written) -> None:
        """Store a piece; it is durable on return."""
        key, account = piece.external_id, self._channel.account
        await self._notes.add(Note(self._channel.name, account, PIECE, key, to_json(piece)))
        self._schedule(_group_key(piece))

    async def take_up(self) -> None:
        """Resume the groups that an earlier process stored but did not pass on."""
        for piece in await self._stored_pieces():
            self._schedule(_group_key(piece))

    async def stop(self) -> None:
        """Stop to wait for pieces; stored pieces are passed on after the next start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _schedule(self, album: str) -> None:
        self._changed.add(album)
        if album not in self._tasks:
            self._tasks[album] = asyncio.create_task(self._process(album))

    async def _process(self, album: str) -> None:
        """Pass on the group, again if further pieces arrived meanwhile."""
        try:
            while album in self._changed:
                self._changed.discard(album)
                await self._clock.sleep(GATHER_SECONDS)
                try:
                    await self._pass_on(album)
                except Exception:
                    log.exception("%s: a media group could not be passed on; it is retried", self._channel.name)
                    self._changed.add(album)
                    await self._clock.sleep(FAILED_PAUSE_SECONDS)
        finally:
            del self._tasks[album]

    async def _pass_on(self, album: str) -> None:
        pieces = in_order([piece for piece in await self._stored_pieces() if _group_key(piece) == album])
        new_pieces = [piece for piece in pieces if not await self._is_processed(piece)]
        if new_pieces:
            await self._handle_message(whole_of(new_pieces))
        # The merged message has the id of the first piece. That piece is removed last, so that after a crash here the
        # merged message is recognized as a duplicate.
        for piece in reversed(pieces):
            await self._notes.add(Note(self._channel.name, self._channel.account, SEEN, piece.external_id))
            await self._notes.remove(self._channel.name, self._channel.account, PIECE, piece.external_id)

    async def _stored_pieces(self) -> list[Written]:
        notes = await self._notes.list(PIECE, self._channel.name, self._channel.account)
        return [from_json(note.value) for note in notes]

    async def _is_processed(self, piece: Written) -> bool:
        """Return whether the piece is a duplicate that arrived while its group was passed on."""
        return await self._notes.get(self._channel.name, self._channel.account, SEEN, piece.external_id) is not None


def in_order(pieces: Sequence[Written]) -> list[Written]:
    """Return the pieces in the order in which they were sent. Pure."""
    return sorted(pieces, key=lambda piece: (len(piece.message_id), piece.message_id))


def whole_of(pieces: Sequence[Written]) -> Written:
    """Return the pieces of a media group as one message, with the id of the first. Pure."""
    return replace(
        pieces[0],
        text="\n".join(piece.text for piece in pieces if piece.text),
        attachments=tuple(file for piece in pieces for file in piece.attachments),
        mentioned=any(piece.mentioned for piece in pieces),
    )


def _group_key(piece: Written) -> str:
    """Return the key of the piece's group; it includes the chat, so that nobody in another chat can add to it."""
    return f"{piece.place.key} {piece.album or piece.external_id}"


def to_json(message: Written) -> dict[str, Any]:
    """Return a message as plain JSON, in the stored format."""
    return {
        "external_id": message.external_id,
        "person": asdict(message.person),
        "place": asdict(message.place),
        "text": message.text,
        "message_id": message.message_id,
        "at": message.at.isoformat(),
        "mentioned": message.mentioned,
        "quoted": message.quoted,
        "album": message.album,
        "attachments": tuple(asdict(file) for file in message.attachments),
        "late": message.late,
    }


def from_json(data: Mapping[str, Any]) -> Written:
    """Return the message from what `to_json` returned."""
    return Written(
        external_id=data["external_id"],
        person=Person(**data["person"]),
        place=Place(**data["place"]),
        text=data["text"],
        message_id=data["message_id"],
        at=datetime.fromisoformat(data["at"]),
        mentioned=data["mentioned"],
        quoted=data["quoted"],
        album=data["album"],
        attachments=tuple(Attachment(**file) for file in data["attachments"]),
        late=data["late"],
    )
