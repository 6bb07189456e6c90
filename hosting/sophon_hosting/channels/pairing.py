"""Pairing: an unknown person gets a code and may write once an operator approves it."""

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
"""Kind of the note of an open code."""
LASTS = timedelta(hours=1)
"""How long a code is valid."""
MOST_OPEN = 3
"""Open codes per channel; further unknown senders get no answer. Source: reference/hosts.md."""

PAIRED = "You are paired and can write now. /help lists the commands."
"""Message to a person whose code was approved."""


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A person with an open code, valid until `expires_at`; or, if `paired`, a person whose code was approved."""

    channel: str
    account: str
    person: str
    name: str
    chat: str = ""
    code: str = ""
    expires_at: datetime | None = None
    paired: bool = False


class Pairing:
    """Pairing codes and paired people of all channels. Pairing grants rights in direct chats only."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._notes, self._clock = store.notes, clock

    async def ask(self, channel: str, account: str, person: Person, place: Place, message: str = "") -> str | None:
        """Return a new code for an unknown person; None if the person has one already, or too many codes are open.

        The same message gets the same code again: the process may have crashed before the code was sent.
        """
        await self._notes.expire(REQUEST, self._clock.now() - LASTS)
        waiting = await self._notes.list(REQUEST, channel, account)
        existing = next((note.value for note in waiting if note.key == person.id), None)
        if existing is not None:
            return str(existing["code"]) if message and existing.get("message") == message else None
        if len(waiting) >= MOST_OPEN:
            return None
        code = new_code()
        value = {"code": code, "name": person.name, "chat": place.key, "message": message}
        return code if await self._notes.add(Note(channel, account, REQUEST, person.id, value)) else None

    async def all(self) -> list[PairingRequest]:
        """Return the open requests, then the paired people."""
        await self._notes.expire(REQUEST, self._clock.now() - LASTS)
        waiting = [_open_request_from_note(note) for note in await self._notes.list(REQUEST)]
        people = [note for note in await self._notes.list(PERSON) if note.value.get("paired")]
        return [*waiting, *(_paired_person_from_note(note) for note in people)]

    async def approve(self, code: str) -> PairingRequest:
        """Pair the person who has the code. Raises NotFound if the code is unknown or expired."""
        normalized = as_code(code)
        for request in await self.all():
            if request.code and request.code == normalized:
                note = await self._notes.get(request.channel, request.account, PERSON, request.person)
                value = {**(note.value if note else {}), "name": request.name, "paired": True, "chat": request.chat}
                await self._notes.put(Note(request.channel, request.account, PERSON, request.person, value))
                await self._notes.remove(request.channel, request.account, REQUEST, request.person)
                return request
        raise NotFound("pairing code", code)

    async def revoke(self, who: str) -> list[PairingRequest]:
        """Remove a person's pairing, by id or by channel and id (`telegram:111`). Raises NotFound if there is none."""
        requests = [
            request for request in await self.all() if who in (request.person, f"{request.channel}:{request.person}")
        ]
        if not requests:
            raise NotFound("paired person", who)
        for request in requests:
            await self._notes.remove(request.channel, request.account, REQUEST, request.person)
            note = await self._notes.get(request.channel, request.account, PERSON, request.person)
            if note is not None:
                await self._notes.put(
                    Note(note.channel, note.account, PERSON, note.key, {**note.value, "paired": False})
                )
        return requests


def _open_request_from_note(note: Note) -> PairingRequest:
    value = note.value
    expires_at = note.at + LASTS if note.at else None
    return PairingRequest(
        note.channel, note.account, note.key, str(value["name"]), str(value["chat"]), str(value["code"]), expires_at
    )


def _paired_person_from_note(note: Note) -> PairingRequest:
    chat = str(note.value.get("chat", ""))
    return PairingRequest(note.channel, note.account, note.key, str(note.value.get("name", "")), chat, paired=True)
