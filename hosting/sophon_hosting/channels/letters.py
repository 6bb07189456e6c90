"""Outbound entries: one per rendered part of a message, with ids that make each message idempotent."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sophon.stores.contracts import Store
from sophon.stores.outbound_contracts import OutboundEntry
from sophon_channels.contract import Channel, Outgoing

Wake: TypeAlias = Callable[[], None]
"""Wakes the outbox worker."""


def parts(channel: Channel, chat: str, name: str, outgoing: Outgoing, kind: str = "note") -> list[OutboundEntry]:
    """Return the entries of one message. `name` identifies the message: the same name is sent once."""
    return [
        OutboundEntry(part_id(name, number), None, channel.name, channel.account, chat, kind, payload, number)
        for number, payload in enumerate(channel.parts(outgoing))
    ]


def part_id(name: str, number: int) -> str:
    """Return the outbound entry's id, `{name}:{number}`."""
    return f"{name}:{number}"


class Letters:
    """Writer of outbound entries for one channel; wakes the outbox worker."""

    def __init__(self, channel: Channel, store: Store, wake: Wake) -> None:
        self._channel, self._store, self._wake = channel, store, wake

    async def write(self, chat: str, name: str, outgoing: Outgoing, kind: str = "note") -> Sequence[OutboundEntry]:
        """Store the entries of a message unless `name` exists already; return them."""
        entries = parts(self._channel, chat, name, outgoing, kind)
        if entries and await self._store.outbound.add(entries):
            self._wake()
        return entries

    async def note(self, chat: str, name: str, text: str, reply_to: str | None = None) -> None:
        """Store a plain-text message of the host."""
        await self.write(chat, name, Outgoing(text, markdown=False, reply_to=reply_to))
