"""What a host remembers of the chats of one channel: who was let in, in which session a chat is, what is done."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sophon.clock import Clock
from sophon.stores.contracts import Store
from sophon.stores.note_contracts import Note
from sophon.stores.run_contracts import Run
from sophon_channels.contract import Channel, Person, Place

PERSON, SESSION, SEEN, MOVED = "person", "session", "seen", "moved"

SEEN_DAYS = 14
"""Longer than any platform delivers again: WhatsApp tries for 7 days. Source: reference/channels.md."""


class Chats:
    """The notes of one channel, by their meaning."""

    def __init__(self, channel: Channel, store: Store, clock: Clock) -> None:
        self._channel, self._store, self._clock = channel, store, clock

    def identity(self, person: Person) -> str:
        """Somebody of this channel as a user of the host."""
        return identity(self._channel.name, person.id)

    async def seen(self, external_id: str) -> bool:
        """Whether it was dealt with before."""
        return await self._get(SEEN, external_id) is not None

    async def mark(self, external_id: str) -> None:
        """It is dealt with."""
        await self._put(SEEN, external_id, {})

    async def forget_old(self) -> None:
        """Drop what no platform delivers any more, and questions that were asked long ago."""
        for kind in (SEEN, "asked", "code"):
            await self._store.notes.expire(kind, self._clock.now() - timedelta(days=SEEN_DAYS))

    async def paired(self, person: Person) -> bool:
        """Whether somebody has shown a code that was approved."""
        note = await self._get(PERSON, person.id)
        return note is not None and bool(note.value.get("paired"))

    async def met(self, person: Person) -> None:
        """Remember the name, for whoever reads who decided."""
        note = await self._get(PERSON, person.id)
        if person.name and (note is None or note.value.get("name") != person.name):
            await self._put(PERSON, person.id, {**(note.value if note else {}), "name": person.name})

    async def name_of(self, user: str) -> str:
        """A user as people know them: somebody of this channel by name."""
        prefix = f"{self._channel.name}:"
        if not user.startswith(prefix):
            return user
        note = await self._get(PERSON, user.removeprefix(prefix))
        return str(note.value.get("name") or user) if note else user

    async def session(self, place: Place) -> str:
        """The session that a chat is in."""
        keys = await self.keys(place)
        for key in keys:
            note = await self._get(SESSION, key)
            if note is not None:
                return str(note.value["session"])
        return self._first_session(keys[-1])

    async def begin_session(self, place: Place, external_id: str) -> str:
        """Have the chat in a new session; the same message gives the same one."""
        session = f"{self._first_session(place.key)}~{_digest(external_id)}"
        await self._put(SESSION, place.key, {"session": session})
        return session

    async def ensure(self, session: str, place: Place, person: Person) -> str:
        """Make it if there is none; in a group it belongs to the group, and to nobody in it. Gives its id: that of a
        new one where somebody from elsewhere has made one under its name, who would read what is said here.
        """
        owner = self.identity(person) if place.kind == "direct" else f"{self._channel.name}:chat:{place.chat}"
        made = await self._store.sessions.ensure(session, owner)
        if made.owner.startswith(f"{self._channel.name}:"):
            return session
        own = f"{session}~{self._clock.new_id()}"
        await self._store.sessions.ensure(own, owner)
        await self._put(SESSION, place.key, {"session": own})
        return own

    async def ids(self, chat: str) -> list[str]:
        """The ids that a chat has and had, the newest first."""
        found = [chat]
        while len(found) < 10 and (note := await self._get(MOVED, found[-1])) is not None:
            if note.value["from"] in found:
                break
            found.append(str(note.value["from"]))
        return found

    async def keys(self, place: Place) -> list[str]:
        """The keys that a place has and had."""
        return [replace(place, chat=chat).key for chat in await self.ids(place.chat)]

    def is_of_channel(self, run: Run) -> bool:
        """Whether a run came from here, and not from a bot or number before this one."""
        return run.channel == self._channel.name and run.origin.get("account", "") == self._channel.account

    async def move(self, old: str, new: str) -> None:
        """A chat has a new id: it stays in its session, and its rights go with it."""
        if old == new or await self._get(MOVED, new) is not None:
            return
        # Its threads are found by the ids that it had; it itself stays where it is though it may move back.
        await self._put(SESSION, new, {"session": await self.session(Place(old))})
        await self._put(MOVED, new, {"from": old})

    def _first_session(self, key: str) -> str:
        return f"{self._channel.name}-{key.replace('/', '-')}"

    async def _get(self, kind: str, key: str) -> Note | None:
        return await self._store.notes.get(self._channel.name, self._channel.account, kind, key)

    async def _put(self, kind: str, key: str, value: Mapping[str, Any]) -> None:
        await self._store.notes.put(Note(self._channel.name, self._channel.account, kind, key, value))


def identity(channel: str, person: str) -> str:
    """Somebody on a platform, as a user of the host."""
    return f"{channel}:{person}"


def clock_time(at: datetime | None) -> str:
    """`10:42 UTC`, as a person reads it in a chat."""
    return f"{at:%H:%M} UTC" if at else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
