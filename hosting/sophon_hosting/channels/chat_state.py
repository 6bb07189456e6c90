"""Chat state of one channel in the store: paired people, current sessions, processed events, chat migrations."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sophon.clock import Clock
from sophon.principals import channel_chat_principal, channel_person_principal, is_channel_principal
from sophon.stores.sessions.contract import SessionSummary
from sophon.turn.chat_overrides import ChatOverrides
from sophon_channels.contract import Channel, ChatLocation, Person
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

PERSON_KIND, SESSION_KIND, PROCESSED_KIND, MIGRATION_KIND = "person", "session", "seen", "moved"
LINK_KIND, HEARD_KIND, OVERRIDES_KIND = "link", "heard", "overrides"
DIALOGUE_KIND = "dialogue"
"""Kinds of the stored notes."""

ACCEPTED_AS = "accepted_as"
"""Key, in the note of a processed message, of the external id under which its text was accepted, if another."""

TAKEN = "taken"
"""Key, in that note, of whether the message was a text that the host waited for."""

PROCESSED_RETENTION_DAYS = 14
"""Retention of processed events: longer than any platform retries (WhatsApp: 7 days)."""


HEARD_RETENTION = timedelta(hours=24)
"""Retention of what was written in a group and is no message to the bot."""


class ChatState:
    """Typed access to the notes of one channel."""

    def __init__(self, channel: Channel, store: HostStore, clock: Clock) -> None:
        self._channel, self._store, self._clock = channel, store, clock

    @property
    def channel_name(self) -> str:
        """The name of the channel."""
        return self._channel.name

    def user_id(self, person: Person) -> str:
        """Return the host's user id of a person on this channel."""
        return channel_person_principal(self._channel.name, person.id)

    async def data_owner(self, location: ChatLocation, person: Person) -> str:
        """Return whose memory and files a turn of this chat uses: the person's, in a group the group's.

        A group that migrated to another id keeps its data: the oldest id counts.
        """
        if location.kind == "direct":
            return self.user_id(person)
        return channel_chat_principal(self._channel.name, (await self.chat_ids(location.chat))[-1])

    async def find_processed(self, external_ids: Collection[str]) -> frozenset[str]:
        """Return those of the events that were processed before."""
        return await self._store.channel_state.find_keys(
            self._channel.name, self._channel.account, PROCESSED_KIND, external_ids
        )

    async def is_processed(self, external_id: str) -> bool:
        """Return whether the event was processed before."""
        return await self._get(PROCESSED_KIND, external_id) is not None

    async def mark_processed(self, external_id: str) -> None:
        """Record that the event is processed."""
        await self.mark_all_processed([external_id])

    async def find_accepted_id(self, external_id: str) -> str:
        """Return the external id under which the text of a message was accepted: of its album, or of its last edit."""
        note = await self._get(PROCESSED_KIND, external_id)
        return str(note.value.get(ACCEPTED_AS) or external_id) if note is not None else external_id

    async def record_accepted_id(self, external_id: str, accepted_as: str) -> None:
        """Record that the text of a message is processed, and was accepted under another external id."""
        await self._put(PROCESSED_KIND, external_id, {ACCEPTED_AS: accepted_as})

    async def mark_taken(self, external_id: str) -> None:
        """Record that a message is processed, and was a text that the host waited for."""
        await self._put(PROCESSED_KIND, external_id, {TAKEN: True})

    async def was_taken(self, external_id: str) -> bool:
        """Return whether a message was a text that the host waited for."""
        note = await self._get(PROCESSED_KIND, external_id)
        return note is not None and bool(note.value.get(TAKEN))

    async def mark_all_processed(self, external_ids: Collection[str]) -> None:
        """Record that the events are processed, in one write."""
        await self._store.channel_state.put_many(
            [
                ChannelStateEntry(self._channel.name, self._channel.account, PROCESSED_KIND, external_id)
                for external_id in dict.fromkeys(external_ids)
            ]
        )

    async def expire_old(self) -> None:
        """Delete expired records of processed events, approval prompts, previews and group history."""
        for kind in (PROCESSED_KIND, "asked", "code", "preview", DIALOGUE_KIND):
            await self._store.channel_state.expire(kind, self._clock.now() - timedelta(days=PROCESSED_RETENTION_DAYS))
        await self._store.channel_state.expire(HEARD_KIND, self._clock.now() - HEARD_RETENTION)

    async def note_question(self, chat_key: str) -> None:
        """Record that a question was asked in a chat: a text that follows may be its answer."""
        await self._store.channel_state.add(
            ChannelStateEntry(self._channel.name, self._channel.account, DIALOGUE_KIND, question_key(chat_key))
        )

    async def is_paired(self, person: Person) -> bool:
        """Return whether the person's pairing code was approved, under any of the ids known for the person."""
        for each in sorted({person.id} | person.known_ids):
            note = await self._get(PERSON_KIND, each)
            if note is None or not note.value.get("paired"):
                continue
            # A number under which another person is known is that person's pairing.
            if each == person.id or await self._get(LINK_KIND, each) is None:
                return True
        return False

    async def has_person(self, person_id: str) -> bool:
        """Return whether a person was recorded under this id: paired, or with a name."""
        return await self._get(PERSON_KIND, person_id) is not None

    async def record_person_name(self, person: Person) -> None:
        """Record the person's name, which is shown with decisions."""
        note = await self._get(PERSON_KIND, person.id)
        if person.name and (note is None or note.value.get("name") != person.name):
            await self._put(PERSON_KIND, person.id, {**(note.value if note else {}), "name": person.name})

    async def display_name(self, user_id: str) -> str:
        """Return the display name of a user: for a person on this channel the recorded name, else the user id."""
        prefix = f"{self._channel.name}:"
        if not user_id.startswith(prefix):
            return user_id
        note = await self._get(PERSON_KIND, user_id.removeprefix(prefix))
        return str(note.value.get("name") or user_id) if note else user_id

    async def current_session(self, location: ChatLocation) -> str:
        """Return the id noted as that of the chat's current session; `find_session` checks whose session it is."""
        keys = await self.chat_keys(location)
        for key in keys:
            note = await self._get(SESSION_KIND, key)
            if note is not None:
                return str(note.value["session"])
        return self._first_session(keys[-1])

    async def start_new_session(self, location: ChatLocation, external_id: str) -> str:
        """Switch the chat to a new session; return its id, which is the same for the same message."""
        session = self.derive_session(location, external_id)
        await self.switch_session(location, session)
        return session

    def derive_session(self, location: ChatLocation, external_id: str) -> str:
        """Return the id of the session that a message begins; the same for the same message."""
        return f"{self._first_session(location.key)}~{_digest(external_id)}"

    async def switch_session(self, location: ChatLocation, session_id: str) -> None:
        """Let the chat go on in a session."""
        await self._put(SESSION_KIND, location.key, {"session": session_id})

    async def ensure_session(self, session_id: str, location: ChatLocation, person: Person) -> SessionSummary:
        """Create the session if it does not exist, and return it.

        A group's session belongs to the group, not to a member; a direct chat's to the person, also if the platform
        gives the chat to another person. If somebody else owns a session of that id, the chat is switched to a new one:
        otherwise one could read the messages of the other.
        """
        owner = await self.data_owner(location, person)
        existing = await self._store.sessions.get_or_create(session_id, owner)
        if self._may_use(existing, location, owner):
            return existing
        new_session = await self._store.sessions.get_or_create(f"{session_id}~{self._clock.new_id()}", owner)
        await self._put(SESSION_KIND, location.key, {"session": new_session.id})
        return new_session

    async def find_session(self, location: ChatLocation, person: Person) -> str:
        """Return the id of the chat's current session, which need not exist; never that of somebody else."""
        session_id = await self.current_session(location)
        existing = await self._store.sessions.find(session_id)
        if existing is None or self._may_use(existing, location, await self.data_owner(location, person)):
            return session_id
        return (await self.ensure_session(session_id, location, person)).id

    async def find_overrides(self, key: str) -> ChatOverrides | None:
        """Return what was changed for a chat or topic by commands; None if nothing ever was."""
        note = await self._get(OVERRIDES_KIND, key)
        return None if note is None else ChatOverrides.from_json(note.value)

    async def store_overrides(self, location: ChatLocation, overrides: ChatOverrides) -> None:
        """Store what is changed for a chat or topic by commands; what was stored for a former id is covered."""
        await self._put(OVERRIDES_KIND, location.key, overrides.to_json())

    async def chat_ids(self, chat: str) -> list[str]:
        """Return the present and former ids of a chat, newest first; at most ten."""
        chat_ids = [chat]
        while len(chat_ids) < 10 and (note := await self._get(MIGRATION_KIND, chat_ids[-1])) is not None:
            if note.value["from"] in chat_ids:
                break
            chat_ids.append(str(note.value["from"]))
        return chat_ids

    async def chat_keys(self, location: ChatLocation) -> list[str]:
        """Return the present and former keys of a chat."""
        return [replace(location, chat=chat).key for chat in await self.chat_ids(location.chat)]

    def is_channel_run(self, run: Run) -> bool:
        """Return whether the run came from this channel."""
        return run.channel == self._channel.name

    def is_own_run(self, run: Run) -> bool:
        """Return whether the run came from this account, and not from an earlier bot or number of the channel."""
        return self.is_channel_run(run) and run.origin.get("account", "") == self._channel.account

    async def migrate_chat(self, old_chat: str, new_chat: str) -> None:
        """Record a chat's new id; its session and its rights are kept."""
        if old_chat == new_chat or await self._get(MIGRATION_KIND, new_chat) is not None:
            return
        # Threads are found by the chat's former ids. The chat itself gets its session here, as it may migrate back.
        await self._put(SESSION_KIND, new_chat, {"session": await self.current_session(ChatLocation(old_chat))})
        await self._put(MIGRATION_KIND, new_chat, {"from": old_chat})

    def _may_use(self, session: SessionSummary, location: ChatLocation, owner: str) -> bool:
        """Return whether a chat may continue a session. The owner of a group's session may be a former id of it."""
        if location.kind == "direct":
            return session.owner == owner
        return is_channel_principal(session.owner, self._channel.name)

    def _first_session(self, key: str) -> str:
        return f"{self._channel.name}-{key.replace('/', '-')}"

    async def _get(self, kind: str, key: str) -> ChannelStateEntry | None:
        return await self._store.channel_state.get(self._channel.name, self._channel.account, kind, key)

    async def _put(self, kind: str, key: str, value: Mapping[str, Any]) -> None:
        await self._store.channel_state.put(
            ChannelStateEntry(self._channel.name, self._channel.account, kind, key, value)
        )


def question_key(chat_key: str) -> str:
    """Return the key of the note that a question was asked in a chat; no person's id has a space."""
    return f"question {chat_key}"


def format_utc_time(at: datetime | None) -> str:
    """Return the time as shown in a chat: `10:42 UTC`; "" for None."""
    return f"{at:%H:%M} UTC" if at else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]
