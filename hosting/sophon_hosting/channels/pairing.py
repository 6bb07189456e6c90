"""Pairing: an unknown person gets a code and may write once an operator approves it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.errors import NotFound
from sophon_channels.contract import ChatLocation, Person
from sophon_channels.short_codes import generate_code, normalize_code
from sophon_hosting.channels.chat_state import LINK_KIND, PERSON_KIND
from sophon_hosting.channels.identity_links import (
    ALIAS_KIND,
    NOBODY,
    IdentityLink,
    link_from_note,
    link_to_json,
    without_id,
)
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore

PAIRING_KIND = "pairing"
"""Kind of the note of an open code."""
CODE_LIFETIME = timedelta(hours=1)
"""How long a code is valid."""
MAX_OPEN_CODES = 3
"""Open codes per channel; further unknown senders get no answer."""

PAIRED_MESSAGE = "You are paired and can write now. /help lists the commands."
"""Message to a person whose code was approved."""


@dataclass(frozen=True, slots=True)
class PairingRequest:
    """A person with an open code, valid until `expires_at`; if `is_paired`, a person whose code was approved; without
    either, a person who may write by the settings and has several ids. `user_id` and `number` are the linked ids.
    """

    channel: str
    account: str
    person_id: str
    name: str
    chat: str = ""
    code: str = ""
    expires_at: datetime | None = None
    is_paired: bool = False
    user_id: str = ""
    number: str = ""


class PairingService:
    """Pairing codes and paired people of all channels. Pairing grants rights in direct chats only."""

    def __init__(self, store: HostStore, clock: Clock) -> None:
        self._notes, self._clock = store.channel_state, clock

    async def request_code(
        self, channel: str, account: str, person: Person, location: ChatLocation, external_id: str = ""
    ) -> str | None:
        """Return a new code for an unknown person; None if the person has one already, or too many codes are open.

        The same message gets the same code again: the process may have crashed before the code was sent.
        """
        oldest = self._clock.now() - CODE_LIFETIME
        waiting = await self._notes.list(PAIRING_KIND, channel, account)
        if any(note.at is not None and note.at < oldest for note in waiting):
            await self._notes.expire(PAIRING_KIND, oldest)
            waiting = await self._notes.list(PAIRING_KIND, channel, account)
        existing = next((note.value for note in waiting if note.key == person.id), None)
        if existing is not None:
            return str(existing["code"]) if external_id and existing.get("message") == external_id else None
        if len(waiting) >= MAX_OPEN_CODES:
            return None
        code = generate_code()
        value = {"code": code, "name": person.name, "chat": location.key, "message": external_id}
        return (
            code if await self._notes.add(ChannelStateEntry(channel, account, PAIRING_KIND, person.id, value)) else None
        )

    async def list_requests(self) -> list[PairingRequest]:
        """Return the open requests, then the paired people, then other people who have several ids."""
        await self._notes.expire(PAIRING_KIND, self._clock.now() - CODE_LIFETIME)
        waiting = [_open_request_from_note(note) for note in await self._notes.list(PAIRING_KIND)]
        people = [note for note in await self._notes.list(PERSON_KIND) if note.value.get("paired")]
        links = [(note, link_from_note(note)) for note in await self._notes.list(LINK_KIND)]
        paired = [_with_ids(_paired_person_from_note(note), links) for note in people]
        listed = {(each.channel, each.account, each.user_id, each.number) for each in paired}
        others = [
            PairingRequest(note.channel, note.account, link.person, "", user_id=link.user_id, number=link.number)
            for note, link in links
            if (note.channel, note.account, link.user_id, link.number) not in listed
        ]
        return [*waiting, *paired, *others]

    async def approve(self, code: str) -> PairingRequest:
        """Pair the person who has the code. Raises NotFound if the code is unknown or expired."""
        normalized = normalize_code(code)
        for request in await self.list_requests():
            if request.code and request.code == normalized:
                note = await self._notes.get(request.channel, request.account, PERSON_KIND, request.person_id)
                value = {**(note.value if note else {}), "name": request.name, "paired": True, "chat": request.chat}
                await self._notes.put(
                    ChannelStateEntry(request.channel, request.account, PERSON_KIND, request.person_id, value)
                )
                await self._notes.remove(request.channel, request.account, PAIRING_KIND, request.person_id)
                return request
        raise NotFound("pairing code", code)

    async def revoke(self, person_id: str) -> list[PairingRequest]:
        """Remove a person's pairing, by any id of theirs or by channel and id (`telegram:111`).

        Raises NotFound if there is none.
        """
        requests = [
            request
            for request in await self.list_requests()
            if (request.is_paired or request.code) and person_id in _names_of(request)
        ]
        if not requests:
            raise NotFound("paired person", person_id)
        for request in requests:
            await self._notes.remove(request.channel, request.account, PAIRING_KIND, request.person_id)
            note = await self._notes.get(request.channel, request.account, PERSON_KIND, request.person_id)
            if note is not None:
                await self._notes.put(
                    ChannelStateEntry(
                        note.channel, note.account, PERSON_KIND, note.key, {**note.value, "paired": False}
                    )
                )
        return requests

    async def unlink(self, platform_id: str) -> list[PairingRequest]:
        """Forget to whom a number or user id belongs: it is linked to whoever writes with it next.

        The settings name only that person by it then. Raises NotFound if it is not linked.
        """
        channel_name, separator, bare_id = platform_id.partition(":")
        found: list[PairingRequest] = []
        for note in await self._notes.list(ALIAS_KIND):
            if note.key == platform_id or (separator and (note.channel, note.key) == (channel_name, bare_id)):
                await self._notes.put(replace(note, value={"person": NOBODY}))
                found.append(PairingRequest(note.channel, note.account, note.key, ""))
        if not found:
            raise NotFound("linked number or user id", platform_id)
        for request in found:
            for note in await self._notes.list(LINK_KIND, request.channel, request.account):
                link = link_from_note(note)
                changed = without_id(link, request.person_id)
                if changed != link:
                    await self._notes.put(replace(note, value=link_to_json(changed)))
        return found


def _names_of(request: PairingRequest) -> set[str]:
    """Return the ids of a person, each also with the channel."""
    ids = {each for each in (request.person_id, request.user_id, request.number) if each}
    return ids | {f"{request.channel}:{each}" for each in ids}


def _with_ids(request: PairingRequest, links: Sequence[tuple[ChannelStateEntry, IdentityLink]]) -> PairingRequest:
    for note, link in links:
        is_same = request.person_id == link.person or request.person_id in link.listed_ids
        if is_same and (note.channel, note.account) == (request.channel, request.account):
            return replace(request, user_id=link.user_id, number=link.number)
    return request


def _open_request_from_note(note: ChannelStateEntry) -> PairingRequest:
    value = note.value
    expires_at = note.at + CODE_LIFETIME if note.at else None
    return PairingRequest(
        note.channel, note.account, note.key, str(value["name"]), str(value["chat"]), str(value["code"]), expires_at
    )


def _paired_person_from_note(note: ChannelStateEntry) -> PairingRequest:
    chat = str(note.value.get("chat", ""))
    return PairingRequest(note.channel, note.account, note.key, str(note.value.get("name", "")), chat, is_paired=True)
