"""What a host writes into a chat: entries of the ledger, a part each, under ids that make each of them once."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from sophon.stores.contracts import Store
from sophon.stores.outbound_contracts import OutboundEntry
from sophon_channels.contract import Channel, Outgoing

Wake: TypeAlias = Callable[[], None]


def parts(channel: Channel, chat: str, name: str, outgoing: Outgoing, kind: str = "note") -> list[OutboundEntry]:
    """The entries of one thing to send; `name` is what makes it one: the same name is sent once."""
    return [
        OutboundEntry(part_id(name, number), None, channel.name, channel.account, chat, kind, payload, number)
        for number, payload in enumerate(channel.parts(outgoing))
    ]


def part_id(name: str, number: int) -> str:
    """Of an entry."""
    return f"{name}:{number}"


class Letters:
    """Writes into the chats of one channel; whoever delivers is told."""

    def __init__(self, channel: Channel, store: Store, wake: Wake) -> None:
        self._channel, self._store, self._wake = channel, store, wake

    async def write(self, chat: str, name: str, outgoing: Outgoing, kind: str = "note") -> Sequence[OutboundEntry]:
        """Keep it, to be sent; what has that name already stays as it is. Gives its parts."""
        entries = parts(self._channel, chat, name, outgoing, kind)
        if entries and await self._store.outbound.add(entries):
            self._wake()
        return entries

    async def note(self, chat: str, name: str, text: str, reply_to: str | None = None) -> None:
        """A line of the host's own."""
        await self.write(chat, name, Outgoing(text, markdown=False, reply_to=reply_to))
