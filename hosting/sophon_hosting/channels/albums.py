"""Albums: what a platform delivers in pieces becomes one message; a piece that was received survives a kill."""

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
FAILED_PAUSE_SECONDS = 5.0
GATHER_SECONDS = 0.5
"""From the first piece on. Source: reference/hosts.md."""

Accept = Callable[[Written], Awaitable[None]]


class Albums:
    """Keeps the pieces of one channel, and gives them on together."""

    def __init__(self, channel: Channel, store: Store, clock: Clock, accept: Accept) -> None:
        self._channel, self._notes, self._clock, self._accept = channel, store.notes, clock, accept
        self._gathering: dict[str, asyncio.Task[None]] = {}
        self._news: set[str] = set()

    async def keep(self, piece: Written) -> None:
        """It is kept when this returns."""
        key, account = piece.external_id, self._channel.account
        await self._notes.add(Note(self._channel.name, account, PIECE, key, to_json(piece)))
        self._gather(_name(piece))

    async def take_up(self) -> None:
        """What a process before this one had received and not given on."""
        for piece in await self._kept():
            self._gather(_name(piece))

    async def stop(self) -> None:
        """Gather no more; what is kept goes on with the next start."""
        tasks = list(self._gathering.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _gather(self, album: str) -> None:
        self._news.add(album)
        if album not in self._gathering:
            self._gathering[album] = asyncio.create_task(self._work_off(album))

    async def _work_off(self, album: str) -> None:
        """Once more as long as pieces came meanwhile: whoever is late is not left behind."""
        try:
            while album in self._news:
                self._news.discard(album)
                await self._clock.sleep(GATHER_SECONDS)
                try:
                    await self._give_on(album)
                except Exception:
                    log.exception("%s: an album could not be given on; another try follows", self._channel.name)
                    self._news.add(album)
                    await self._clock.sleep(FAILED_PAUSE_SECONDS)
        finally:
            del self._gathering[album]

    async def _give_on(self, album: str) -> None:
        pieces = in_order([piece for piece in await self._kept() if _name(piece) == album])
        fresh = [piece for piece in pieces if not await self._is_seen(piece)]
        if fresh:
            await self._accept(whole_of(fresh))
        # The first, whose id the whole has, is the last to go: after a kill in here the whole is known again.
        for piece in reversed(pieces):
            await self._notes.add(Note(self._channel.name, self._channel.account, SEEN, piece.external_id))
            await self._notes.remove(self._channel.name, self._channel.account, PIECE, piece.external_id)

    async def _kept(self) -> list[Written]:
        notes = await self._notes.list(PIECE, self._channel.name, self._channel.account)
        return [from_json(note.value) for note in notes]

    async def _is_seen(self, piece: Written) -> bool:
        """A repeat that came while its album was given on."""
        return await self._notes.get(self._channel.name, self._channel.account, SEEN, piece.external_id) is not None


def in_order(pieces: Sequence[Written]) -> list[Written]:
    """As they were sent."""
    return sorted(pieces, key=lambda piece: (len(piece.message_id), piece.message_id))


def whole_of(pieces: Sequence[Written]) -> Written:
    """The pieces of an album as one message."""
    return replace(
        pieces[0],
        text="\n".join(piece.text for piece in pieces if piece.text),
        attachments=tuple(file for piece in pieces for file in piece.attachments),
        mentioned=any(piece.mentioned for piece in pieces),
    )


def _name(piece: Written) -> str:
    """Of its album: nobody in another chat adds to it."""
    return f"{piece.place.key} {piece.album or piece.external_id}"


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
