"""Chat state of one channel in the store: paired people, current sessions, processed events, chat migrations."""

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
"""Kinds of the stored notes."""

SEEN_DAYS = 14
"""Retention of processed events: longer than any platform retries (WhatsApp: 7 days). Source: reference/channels.md."""


class Chats:
    """Typed access to the notes of one channel."""

    def __init__(self, channel: Channel, store: Store, clock: Clock) -> None:
        self._channel, self._store, self._clock = channel, store, clock

    def identity(self, person: Person) -> str:
        """Return the host's user id of a person on this channel."""
        return identity(self._channel.name, person.id)

    async def seen(self, external_id: str) -> bool:
        """Return whether the event was processed before."""
        return await self._get(SEEN, external_id) is not None

    async def mark(self, external_id: str) -> None:
        """Record that the event is processed."""
        await self._put(SEEN, external_id, {})

    async def forget_old(self) -> None:
        """Delete expired records of processed events and approval prompts."""
        for kind in (SEEN, "asked", "code"):
            await self._store.notes.expire(kind, self._clock.now() - timedelta(days=SEEN_DAYS))

    async def paired(self, person: Person) -> bool:
        """Return whether the person's pairing code was approved."""
        note = await self._get(PERSON, person.id)
        return note is not None and bool(note.value.get("paired"))

    async def met(self, person: Person) -> None:
        """Record the person's name, which is shown with decisions."""
        note = await self._get(PERSON, person.id)
        if person.name and (note is None or note.value.get("name") != person.name):
            await self._put(PERSON, person.id, {**(note.value if note else {}), "name": person.name})

    async def name_of(self, user: str) -> str:
        """Return the display name of a user: for a person on this channel the recorded name, else the user id."""
        prefix = f"{self._channel.name}:"
        if not user.startswith(prefix):
            return user
        note = await self._get(PERSON, user.removeprefix(prefix))
        return str(note.value.get("name") or user) if note else user

    async def session(self, place: Place) -> str:
        """Return the id of the chat's current session."""
        keys = await self.keys(place)
        for key in keys:
            note = await self._get(SESSION, key)
            if note is not None:
                return str(note.value["session"])
        return self._first_session(keys[-1])

    async def begin_session(self, place: Place, external_id: str) -> str:
        """Switch the chat to a new session; return its id, which is the same for the same message."""
        session = f"{self._first_session(place.key)}~{_digest(external_id)}"
        await self._put(SESSION, place.key, {"session": session})
        return session

    async def ensure(self, session: str, place: Place, person: Person) -> str:
        """Create the session if it does not exist, and return its id.

        A group's session belongs to the group, not to a member. If a user from elsewhere owns a session of that id, the
        chat is switched to a new one: otherwise that owner could read the chat.
        """
        owner = self.identity(person) if place.kind == "direct" else f"{self._channel.name}:chat:{place.chat}"
        existing = await self._store.sessions.ensure(session, owner)
        if existing.owner.startswith(f"{self._channel.name}:"):
            return session
        new_session = f"{session}~{self._clock.new_id()}"
        await self._store.sessions.ensure(new_session, owner)
        await self._put(SESSION, place.key, {"session": new_session})
        return new_session

    async def ids(self, chat: str) -> list[str]:
        """Return the present and former ids of a chat, newest first; at most ten."""
        chat_ids = [chat]
        while len(chat_ids) < 10 and (note := await self._get(MOVED, chat_ids[-1])) is not None:
            if note.value["from"] in chat_ids:
                break
            chat_ids.append(str(note.value["from"]))
        return chat_ids

    async def keys(self, place: Place) -> list[str]:
        """Return the present and former keys of a chat."""
        return [replace(place, chat=chat).key for chat in await self.ids(place.chat)]

    def is_of_channel(self, run: Run) -> bool:
        """Return whether the run came from this account, and not from an earlier bot or number of the channel."""
        return run.channel == self._channel.name and run.origin.get("account", "") == self._channel.account

    async def move(self, old: str, new: str) -> None:
        """Record a chat's new id; its session and its rights are kept."""
        if old == new or await self._get(MOVED, new) is not None:
            return
        # Threads are found by the chat's former ids. The chat itself gets its session here, as it may migrate back.
        await self._put(SESSION, new, {"session": await self.session(Place(old))})
        await self._put(MOVED, new, {"from": old})

    def _first_session(self, key: str) -> str:
        return f"{self._channel.name}-{key.replace('/', '-')}"

    async def _get(self, kind: str, key: str) -> Note | None:
        return await self._store.notes.get(self._channel.name, self._channel.account, kind, key)

    async def _put(self, kind: str, key: str, value: Mapping[str, Any]) -> None:
        await self._store.notes.put(Note(self._channel.name, self._channel.account, kind, key, value))


def identity(channel: str, person: str) -> str:
    """Return the host's user id of a person on a platform."""
    return f"{channel}:{person}"


def clock_time(at: datetime | None) -> str:
    """Return the time as shown in a chat: `10:42 UTC`; "" for None."""
    return f"{at:%H:%M} UTC" if at else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
