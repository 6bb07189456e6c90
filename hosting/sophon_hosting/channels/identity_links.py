"""Identity links: the ids of one person on a platform that gives a person a user id and a phone number.

Links are learned only from events that the platform has authenticated, and only for people who may write. A user id is
never given to somebody else; a phone number is. So a number leads to the person who was seen with it first, until the
platform states that this person has another number, or it appears with an unknown user id: then whoever writes from it
is somebody else, who has no rights and sees nothing of the earlier person.

| event | effect |
|---|---|
| number and user id together, both new | they are linked: one person, whose data stays where it was |
| a known number with an unknown user id | another person, without rights; the earlier one keeps the user id only |
| the platform reports new ids (`IdentityChanged`) | the same person, with the new ids; the old number is nobody's |

A person is stored under the id that was known first, so that sessions, memory, files and pairing stay the person's.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.principals import channel_person_principal, is_channel_principal
from sophon_channels.contract import Channel, ChatLocation, IdentityChanged, Person
from sophon_hosting.channels.chat_state import LINK_KIND, ChatState
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.contract import HostStore

log = logging.getLogger("sophon")

ALIAS_KIND = "alias"
"""Kind of the note that stores to whom a platform id belongs; the ids of a person are in one of `LINK_KIND`."""

NOBODY = ""
"""Person of an id that the operator has unlinked: it is linked to whoever writes with it next."""


@dataclass(frozen=True, slots=True)
class IdentityLink:
    """The ids of a person: `person` is the id under which the host knows them.

    `listed_ids` are the ids under which the settings may name the person; a number that came to the person later is not
    among them. `chat` is the direct chat to which replies are sent.
    """

    person: str
    user_id: str = ""
    number: str = ""
    listed_ids: tuple[str, ...] = ()
    chat: str = ""


@dataclass(frozen=True, slots=True)
class Identification:
    """Sender of an event, and their chat. `change` is to be stored once the person may write; None for nothing."""

    person: Person
    location: ChatLocation
    change: "LinkChange | None" = None


@dataclass(frozen=True, slots=True)
class LinkChange:
    """Notes to store: links, persons by alias, and chats that have another id (old, new)."""

    links: tuple[IdentityLink, ...] = ()
    aliases: tuple[tuple[str, str], ...] = ()
    moved_chats: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KnownIdentities:
    """Stored links and sessions of the two ids of an event.

    `by_user` and `by_number` are the links that the ids lead to, `number_owner` and `user_owner` the persons whose
    sessions the chats of the two ids have. `has_user` and `has_number`: a person was recorded under the id itself.
    """

    by_user: IdentityLink | None = None
    by_number: IdentityLink | None = None
    number_owner: str | None = None
    user_owner: str | None = None
    has_user: bool = False
    has_number: bool = False
    is_unlinked: bool = False
    """The operator has unlinked the number, so that it names whoever writes with it next."""

    @property
    def knows_user(self) -> bool:
        """Whether somebody has written with the user id alone."""
        return self.has_user or self.user_owner is not None


def link_ids(user_id: str, number: str, known: KnownIdentities) -> tuple[str, LinkChange | None]:
    """Return the person who wrote from a number with a user id, and the change of the links if there is one. Pure."""
    by_user, by_number = known.by_user, known.by_number
    if by_user is not None and by_number is not None and by_user.person == by_number.person:
        return by_user.person, None
    if by_user is not None:
        return by_user.person, _add_number(by_user, number, known)
    if known.is_unlinked:
        link = IdentityLink(user_id, user_id, number, (user_id, number), number)
        return user_id, LinkChange((link,), ((user_id, user_id), (number, user_id)))
    if by_number is not None and not by_number.user_id and not known.knows_user:  # known by the number only so far
        link = replace(by_number, user_id=user_id, listed_ids=_with(by_number.listed_ids, user_id))
        return link.person, LinkChange((link,), ((user_id, link.person),))
    if by_number is not None or known.number_owner not in (None, user_id, number):
        return user_id, _take_number(user_id, number, known)
    person = known.number_owner or (user_id if known.knows_user or not known.has_number else number)
    chat = user_id if known.number_owner is None and known.user_owner == user_id else number
    link = IdentityLink(person, user_id, number, (user_id, number), chat)
    return person, LinkChange((link,), ((user_id, person), (number, person)))


def _add_number(link: IdentityLink, number: str, known: KnownIdentities) -> LinkChange:
    """Return the change for a known person with an unknown number, or one that was another person's.

    The settings may name the person by that number only if it is the first one, and nobody else has had it.
    """
    is_first = known.by_number is None and link.listed_ids == (link.user_id,) and not link.number
    is_free = known.number_owner in (None, link.person)
    chat = number if link.chat in ("", link.number) else link.chat
    listed = _with(link.listed_ids, number) if is_first and is_free else link.listed_ids
    released = _release_number(known.by_number, number)
    return LinkChange(
        (replace(link, number=number, chat=chat, listed_ids=listed), *released.links),
        ((number, link.person),),
        (*released.moved_chats, *_moved(link.chat, chat)),
    )


def _take_number(user_id: str, number: str, known: KnownIdentities) -> LinkChange:
    """Return the change for an unknown user id with a number that another person has had: a person without rights."""
    link = IdentityLink(user_id, user_id, number, (user_id,), number)
    released = _release_number(known.by_number, number)
    aliases = ((user_id, user_id), (number, user_id))
    return LinkChange((link, *released.links), aliases, released.moved_chats)


def change_ids(change: IdentityChanged, link: IdentityLink) -> LinkChange:
    """Return the change of the links when the platform reports new ids of a person. Pure.

    The rights stay the person's. Whoever writes from the old number later is somebody else.
    """
    user_id, number = change.new_user_id or link.user_id, change.new_number or link.number
    old_number = change.old_number or link.number
    chat = link.chat
    if change.new_number and chat in ("", old_number):
        chat = change.new_number
    elif change.new_user_id and chat in ("", change.old_user_id):
        chat = change.new_user_id
    aliases = [(each, link.person) for each in (change.new_user_id, change.new_number) if each]
    if change.new_number and old_number and old_number != change.new_number:
        aliases.append((old_number, _next_holder(old_number, change.external_id)))
    changed = replace(link, user_id=user_id, number=number, chat=chat)
    return LinkChange((changed,), tuple(aliases), _moved(link.chat, chat))


class IdentityLinks:
    """Identity links of one channel in the store. `on_link` is called with each link that is read or stored."""

    def __init__(
        self, channel: Channel, store: HostStore, chat_state: ChatState, on_link: Callable[[IdentityLink], None]
    ) -> None:
        self._channel, self._store, self._chat_state, self._on_link = channel, store, chat_state, on_link

    async def load(self) -> None:
        """Read all links, so that approvers are known by all of their ids."""
        for note in await self._store.channel_state.list(LINK_KIND, self._channel.name, self._channel.account):
            self._on_link(link_from_note(note))

    async def identify(self, person: Person, location: ChatLocation) -> Identification:
        """Return the person that the ids lead to. Nothing is stored before `store`."""
        if not (person.user_id or person.number):
            return Identification(person, location)
        by_user, by_number = await self._find(person.user_id), await self._find(person.number)
        change: LinkChange | None = None
        link = by_user if person.user_id else by_number
        if person.user_id and person.number:
            known = await self._known(person, by_user, by_number)
            person_id, change = link_ids(person.user_id, person.number, known)
            links = change.links if change is not None else (by_user or by_number,)
            link = next((each for each in links if each is not None and each.person == person_id), link)
        if link is None:
            link = await self._link_of_person(person.id)
        if link is None:
            self._on_link(IdentityLink(person.id))
            return Identification(person, location)
        self._on_link(link)
        linked = replace(person, id=link.person, listed_ids=link.listed_ids)
        return Identification(linked, replace(location, chat=link.chat or location.chat), change)

    async def store(self, found: Identification) -> None:
        """Store what `identify` has found."""
        if found.change is None:
            return
        for link in found.change.links:
            if link.person != found.person.id:
                log.warning(
                    "%s: the number %s of %s has an unknown user id and counts as another person's; if it is the same "
                    "person: sophon pairing unlink %s",
                    self._channel.name,
                    found.person.number,
                    link.person,
                    found.person.number,
                )
        await self._apply(found.change)

    async def release(self, found: Identification) -> None:
        """Store that a number is no longer the address of who had it, because a person who may not write has it now.

        Of the writer nothing is stored; the rights of the number stay with the person who had it.
        """
        change = found.change
        if change is None or change.links[0].person != found.person.id:
            return
        released = change.links[1:]
        chats = {link.chat for link in released}
        moved = tuple(each for each in change.moved_chats if each[1] in chats)
        if released:
            await self._apply(LinkChange(released, (), moved))

    async def change(self, change: IdentityChanged) -> None:
        """Give a person the ids that the platform reports; ids of nobody whom the host knows stay without rights."""
        link = await self._find_changed(change)
        if link is None:
            log.info("%s: ignored new ids of a person whom the host does not know", self._channel.name)
            return
        displaced = await self._find(change.new_number)
        update = change_ids(change, link)
        if displaced is not None and displaced.person != link.person:
            released = _release_number(displaced, change.new_number)
            update = replace(
                update, links=update.links + released.links, moved_chats=released.moved_chats + update.moved_chats
            )
        await self._apply(update)

    async def _find_changed(self, change: IdentityChanged) -> IdentityLink | None:
        """Return the person whose ids have changed; None if nobody is known, or the old ids are of two persons."""
        by_user, by_number = await self._find(change.old_user_id), await self._find(change.old_number)
        if by_user is not None:
            return by_user
        if by_number is not None:
            agrees = not (change.old_user_id and by_number.user_id) or by_number.user_id == change.old_user_id
            return by_number if agrees else None
        for known_id in (change.old_user_id, change.old_number):
            if known_id and await self._is_known(known_id):
                return IdentityLink(
                    known_id, change.old_user_id, change.old_number, (known_id,), change.old_number or known_id
                )
        return None

    async def _apply(self, change: LinkChange) -> None:
        """Store a change: chats first, as a change that was cut short is made again by the next event."""
        for old_chat, new_chat in change.moved_chats:
            await self._chat_state.migrate_chat(old_chat, new_chat)
        notes = [self._note(LINK_KIND, link.person, link_to_json(link)) for link in change.links]
        notes += [self._note(ALIAS_KIND, key, {"person": person}) for key, person in change.aliases]
        await self._store.channel_state.put_many(notes)
        for link in change.links:
            self._on_link(link)

    async def _known(
        self, person: Person, by_user: IdentityLink | None, by_number: IdentityLink | None
    ) -> KnownIdentities:
        if by_user is not None and by_number is not None:
            return KnownIdentities(by_user, by_number)
        return KnownIdentities(
            by_user,
            by_number,
            await self._session_owner(person.number),
            await self._session_owner(person.user_id),
            await self._chat_state.has_person(person.user_id),
            await self._chat_state.has_person(person.number),
            await self._is_unlinked(person.number),
        )

    async def _find(self, platform_id: str) -> IdentityLink | None:
        """Return the link that an id leads to; for a number that its person has given up, one of its next holder."""
        if not platform_id:
            return None
        alias = await self._get(ALIAS_KIND, platform_id)
        if alias is None or alias.value["person"] == NOBODY:
            return None
        person = str(alias.value["person"])
        note = await self._get(LINK_KIND, person)
        if note is not None:
            return link_from_note(note)
        return IdentityLink(person, number=platform_id, listed_ids=(person,), chat=platform_id)

    async def _link_of_person(self, person_id: str) -> IdentityLink | None:
        """Return the link for an unlinked id under which a person is known: then it is of that person's next holder."""
        if await self._get(LINK_KIND, person_id) is None:
            return None
        return IdentityLink(f"{person_id}~", number=person_id, listed_ids=(person_id,), chat=person_id)

    async def _is_unlinked(self, platform_id: str) -> bool:
        alias = await self._get(ALIAS_KIND, platform_id)
        return alias is not None and alias.value["person"] == NOBODY

    async def _is_known(self, platform_id: str) -> bool:
        return await self._chat_state.has_person(platform_id) or await self._session_owner(platform_id) == platform_id

    async def _session_owner(self, chat: str) -> str | None:
        """Return the person whose session the chat has; None for no session, or one of no person of this channel."""
        session = await self._store.sessions.find(await self._chat_state.current_session(ChatLocation(chat)))
        if session is None or not is_channel_principal(session.owner, self._channel.name):
            return None
        return session.owner.removeprefix(channel_person_principal(self._channel.name, ""))

    async def _get(self, kind: str, key: str) -> ChannelStateEntry | None:
        return await self._store.channel_state.get(self._channel.name, self._channel.account, kind, key)

    def _note(self, kind: str, key: str, value: dict[str, Any]) -> ChannelStateEntry:
        return ChannelStateEntry(self._channel.name, self._channel.account, kind, key, value)


def link_from_note(note: ChannelStateEntry) -> IdentityLink:
    """Return the link that a note stores."""
    value = note.value
    return IdentityLink(
        note.key, str(value["user_id"]), str(value["number"]), tuple(value["listed_ids"]), str(value["chat"])
    )


def without_id(link: IdentityLink, platform_id: str) -> IdentityLink:
    """Return the link without a number or user id. Pure.

    Without any id left, `listed_ids` has one that no setting names: an empty one would mean the person's own id.
    """
    return replace(
        link,
        user_id="" if link.user_id == platform_id else link.user_id,
        number="" if link.number == platform_id else link.number,
        listed_ids=tuple(each for each in link.listed_ids if each != platform_id) or (f"{link.person}~",),
    )


def link_to_json(link: IdentityLink) -> dict[str, Any]:
    """Return a link as plain JSON, in the stored format."""
    return {
        "user_id": link.user_id,
        "number": link.number,
        "listed_ids": list(link.listed_ids),
        "chat": link.chat,
    }


def _release_number(link: IdentityLink | None, number: str) -> LinkChange:
    """Return the change for the person who had a number that is somebody else's now: replies go to the user id."""
    if link is None:
        return LinkChange()
    chat = link.user_id if link.chat == number and link.user_id else link.chat
    kept = link.number if link.number != number else ""
    return LinkChange((replace(link, number=kept, chat=chat),), (), _moved(link.chat, chat))


def _moved(old_chat: str, new_chat: str) -> tuple[tuple[str, str], ...]:
    return ((old_chat, new_chat),) if old_chat and old_chat != new_chat else ()


def _next_holder(number: str, external_id: str) -> str:
    """Return the id of whoever writes next from a number that its person has given up."""
    return f"{number}~{hashlib.sha256(external_id.encode()).hexdigest()[:10]}"


def _with(ids: tuple[str, ...], new: str) -> tuple[str, ...]:
    return ids if new in ids else (*ids, new)
