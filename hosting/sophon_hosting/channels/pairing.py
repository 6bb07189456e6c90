"""Pairing: somebody unknown gets a code, and is let in when whoever runs the host approves it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores.contracts import Store
from sophon.stores.note_contracts import Note
from sophon_channels.contract import Person, Place
from sophon_channels.rules.tokens import as_code, new_code
from sophon_hosting.channels.chats import PERSON

REQUEST = "pairing"
LASTS = timedelta(hours=1)
MOST_OPEN = 3
"""Of a channel; a fourth unknown sender is not answered. Source: reference/hosts.md."""

PAIRED = "You are let in. Write whatever you like; /help shows the commands."


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """Somebody who wants to be let in, until `expires_at`; or `paired`, who was."""

    channel: str
    account: str
    person: str
    name: str
    chat: str = ""
    code: str = ""
    expires_at: datetime | None = None
    paired: bool = False


class Pairing:
    """Codes and whom they let in, of all channels. Rights of pairing are for direct chats only."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._notes, self._clock = store.notes, clock

    async def ask(self, channel: str, account: str, person: Person, place: Place, message: str = "") -> str | None:
        """The code for somebody unknown; None if they have one, or too many are open: then nothing is answered. The
        same message gets the same code again: a kill may have come before it was told.
        """
        await self._notes.expire(REQUEST, self._clock.now() - LASTS)
        waiting = await self._notes.list(REQUEST, channel, account)
        own = next((note.value for note in waiting if note.key == person.id), None)
        if own is not None:
            return str(own["code"]) if message and own.get("message") == message else None
        if len(waiting) >= MOST_OPEN:
            return None
        code = new_code()
        value = {"code": code, "name": person.name, "chat": place.key, "message": message}
        return code if await self._notes.add(Note(channel, account, REQUEST, person.id, value)) else None

    async def all(self) -> list[PairingRequest]:
        """Those who wait, then those who were let in."""
        await self._notes.expire(REQUEST, self._clock.now() - LASTS)
        waiting = [_request(note) for note in await self._notes.list(REQUEST)]
        people = [note for note in await self._notes.list(PERSON) if note.value.get("paired")]
        return [*waiting, *(_person(note) for note in people)]

    async def approve(self, code: str) -> PairingRequest:
        """Let in whoever was given a code. NotFound for one that nobody has, or that has expired."""
        wanted = as_code(code)
        for request in await self.all():
            if request.code and request.code == wanted:
                note = await self._notes.get(request.channel, request.account, PERSON, request.person)
                value = {**(note.value if note else {}), "name": request.name, "paired": True, "chat": request.chat}
                await self._notes.put(Note(request.channel, request.account, PERSON, request.person, value))
                await self._notes.remove(request.channel, request.account, REQUEST, request.person)
                return request
        raise NotFound("pairing code", code)

    async def revoke(self, who: str) -> list[PairingRequest]:
        """Let somebody in no more: by their id, or by id and channel (`telegram:111`). NotFound if nobody is that."""
        found = [each for each in await self.all() if who in (each.person, f"{each.channel}:{each.person}")]
        if not found:
            raise NotFound("paired person", who)
        for each in found:
            await self._notes.remove(each.channel, each.account, REQUEST, each.person)
            note = await self._notes.get(each.channel, each.account, PERSON, each.person)
            if note is not None:
                await self._notes.put(
                    Note(note.channel, note.account, PERSON, note.key, {**note.value, "paired": False})
                )
        return found


def _request(note: Note) -> PairingRequest:
    value = note.value
    until = note.at + LASTS if note.at else None
    return PairingRequest(
        note.channel, note.account, note.key, str(value["name"]), str(value["chat"]), str(value["code"]), until
    )


def _person(note: Note) -> PairingRequest:
    chat = str(note.value.get("chat", ""))
    return PairingRequest(note.channel, note.account, note.key, str(note.value.get("name", "")), chat, paired=True)
