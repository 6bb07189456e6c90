"""Outbound entries: one per rendered part of a message, with ids that make each message idempotent."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sophon_channels.contract import Channel, ChatLocation, OutboundMessage, Person
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.channels.direct_chat_recipients import recipient_in_chat
from sophon_hosting.store.contract import HostStore

WakeCallback: TypeAlias = Callable[[], None]
"""Wakes the outbox worker."""


def build_entries(
    channel: Channel, chat: str, name: str, message: OutboundMessage, kind: str = "note", *, recipient: str = ""
) -> list[OutboundEntry]:
    """Return the entries of one message. `name` identifies the message: the same name is sent once.

    `recipient` is the user id of the person in a direct chat, "" for a group.
    """
    return [
        OutboundEntry(
            build_entry_id(name, number),
            None,
            channel.name,
            channel.account,
            chat,
            kind,
            payload,
            number,
            recipient=recipient,
        )
        for number, payload in enumerate(channel.render_payloads(message))
    ]


def build_entry_id(name: str, position: int) -> str:
    """Return the outbound entry's id, `{name}:{position}`."""
    return f"{name}:{position}"


class OutboundWriter:
    """Writer of outbound entries for one channel; wakes the outbox worker."""

    def __init__(self, channel: Channel, store: HostStore, wake: WakeCallback) -> None:
        self._channel, self._store, self._wake = channel, store, wake

    def wake(self) -> None:
        """Wake the outbox worker."""
        self._wake()

    async def write(
        self,
        chat: str,
        name: str,
        message: OutboundMessage,
        kind: str = "note",
        *,
        recipient: str = "",
        max_parts: int | None = None,
    ) -> Sequence[OutboundEntry]:
        """Store the entries of a message unless `name` exists already; return them. `max_parts` cuts the message.

        `recipient` is as in `build_entries`.
        """
        entries = build_entries(self._channel, chat, name, message, kind, recipient=recipient)[:max_parts]
        if entries and await self._store.outbox.add(entries):
            self._wake()
        return entries

    async def write_notice(
        self, chat: str, name: str, text: str, reply_to_message_id: str | None = None, *, recipient: str = ""
    ) -> None:
        """Store a plain-text message of the host; `recipient` is as in `build_entries`."""
        message = OutboundMessage(text, is_markdown=False, reply_to_message_id=reply_to_message_id)
        await self.write(chat, name, message, recipient=recipient)

    async def write_reply(
        self, location: ChatLocation, person: Person, name: str, text: str, reply_to_message_id: str | None = None
    ) -> None:
        """Store a plain-text message of the host to the person who wrote in a chat."""
        recipient = recipient_in_chat(self._channel.name, location, person)
        await self.write_notice(location.key, name, text, reply_to_message_id, recipient=recipient)
