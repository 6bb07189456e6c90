"""Albums: what a platform delivers in pieces becomes one message; a piece that was received survives a kill."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sophon.clock import Clock
from sophon.stores.contracts import Store
from sophon.stores.note_contracts import Note
from sophon_channels.contract import Attachment, Channel, Person, Place, Written

PIECE = "piece"
GATHER_SECONDS = 0.5
"""From the first piece on. Source: reference/hosts.md."""

Accept = Callable[[Written], Awaitable[None]]


class Albums:
    """Keeps the pieces of one channel, and gives them on together."""

    def __init__(self, channel: Channel, store: Store, clock: Clock, accept: Accept) -> None:
        self._channel, self._notes, self._clock, self._accept = channel, store.notes, clock, accept
        self._gathering: dict[str, asyncio.Task[None]] = {}

    async def keep(self, piece: Written) -> None:
        """It is kept when this returns."""
        key, account = piece.external_id, self._channel.account
        await self._notes.add(Note(self._channel.name, account, PIECE, key, {"album": piece.album, **to_json(piece)}))
        self._gather(piece.album or key)

    async def take_up(self) -> None:
        """What a process before this one had received and not given on."""
        for note in await self._notes.list(PIECE, self._channel.name, self._channel.account):
            self._gather(str(note.value["album"]))

    async def stop(self) -> None:
        """Gather no more; what is kept goes on with the next start."""
        for task in self._gathering.values():
            task.cancel()
        await asyncio.gather(*self._gathering.values(), return_exceptions=True)

    def _gather(self, album: str) -> None:
        if album not in self._gathering:
            task = self._gathering[album] = asyncio.create_task(self._give_on(album))
            task.add_done_callback(lambda _: self._gathering.pop(album, None))

    async def _give_on(self, album: str) -> None:
        await self._clock.sleep(GATHER_SECONDS)
        notes = await self._notes.list(PIECE, self._channel.name, self._channel.account)
        pieces = [from_json(note.value) for note in notes if note.value["album"] == album]
        if not pieces:
            return
        pieces.sort(key=lambda piece: (len(piece.message_id), piece.message_id))
        text = "\n".join(piece.text for piece in pieces if piece.text)
        files = tuple(file for piece in pieces for file in piece.attachments)
        whole = replace(pieces[0], text=text, attachments=files, mentioned=any(piece.mentioned for piece in pieces))
        await self._accept(whole)
        for piece in pieces:
            await self._notes.add(Note(self._channel.name, self._channel.account, "seen", piece.external_id))
            await self._notes.remove(self._channel.name, self._channel.account, PIECE, piece.external_id)


def to_json(message: Written) -> dict[str, Any]:
    """A message as plain JSON."""
    return {**asdict(message), "at": message.at.isoformat()}


def from_json(data: Mapping[str, Any]) -> Written:
    """What `to_json` has written."""
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
