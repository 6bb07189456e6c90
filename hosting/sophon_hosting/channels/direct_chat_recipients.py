"""Recipients: the person to whom a message in a direct chat is addressed, and the chat that reaches that person now.

The platform may give a chat (a phone number) to somebody else between the turn that wrote a message and its sending.
So the address is looked up at each send; a message never goes to a later holder of the chat.
"""

from collections.abc import Iterable
from dataclasses import replace

from sophon.principals import channel_person_principal
from sophon_channels.contract import Channel, ChatLocation, Person
from sophon_hosting.channels.chat_state import LINK_KIND
from sophon_hosting.channels.identity_links import ALIAS_KIND, NOBODY, IdentityLink, link_from_note
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

RECIPIENT_CHANGED = "recipient changed: the chat belongs to somebody else now, and no other address is known"
"""Error of a message whose recipient cannot be reached any more."""


def recipient_of_run(run: Run) -> str:
    """Return the recipient of what a run sends to its chat; "" for a group. Pure."""
    return run.owner if run.origin.get("kind") == "direct" else ""


def recipient_in_chat(channel_name: str, location: ChatLocation, person: Person) -> str:
    """Return the recipient of an answer to a person in a chat; "" for a group. Pure."""
    return channel_person_principal(channel_name, person.id) if location.kind == "direct" else ""


def list_addresses(chat: str, link: IdentityLink | None) -> Iterable[str]:
    """Return the chats that may reach a person, best first: the present one if it is still among the ids. Pure."""
    if link is None:
        return (chat,)
    own = tuple(each for each in dict.fromkeys((link.chat, link.user_id, link.number)) if each)
    return (chat, *own) if chat in own else own


class RecipientAddresses:
    """Addresses of people, read from the identity links in the store."""

    def __init__(self, store: HostStore) -> None:
        self._store = store

    async def find_chat(self, channel: Channel, recipient: str, chat_key: str) -> str | None:
        """Return the key of the chat that reaches the recipient: `chat_key` if it still does; None if there is none.

        Without a recipient that is a person of the channel it is `chat_key`.
        """
        prefix = channel_person_principal(channel.name, "")
        if not recipient.startswith(prefix):
            return chat_key
        person = recipient.removeprefix(prefix)
        note = await self._store.channel_state.get(channel.name, channel.account, LINK_KIND, person)
        chat, _, _ = chat_key.partition("/")
        for address in list_addresses(chat, link_from_note(note) if note is not None else None):
            if await self._is_held_by(channel, address, person):
                return chat_key if address == chat else address
        return None

    async def find_location(self, channel: Channel, run: Run) -> ChatLocation | None:
        """Return the chat of a run's recipient, None if nobody can be reached."""
        location = ChatLocation(**run.origin["place"])
        key = await self.find_chat(channel, recipient_of_run(run), location.key)
        if key is None or key == location.key:
            return location if key is not None else None
        return replace(location, chat=key, thread=None)

    async def _is_held_by(self, channel: Channel, platform_id: str, person: str) -> bool:
        """Return whether an id is the person's; one that an operator has unlinked is its next holder's."""
        alias = await self._store.channel_state.get(channel.name, channel.account, ALIAS_KIND, platform_id)
        if alias is None:
            return True
        holder = str(alias.value["person"])
        return holder == person or (holder == NOBODY and person == f"{platform_id}~")
