"""Chat notices: lines that a host writes into a chat when an event asks for the attention of a person."""

from collections.abc import Callable
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon_channels.contract import Channel
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.contract import HostStore


class NoticeSender(Protocol):
    """Sends the notices of one channel."""

    async def send(self, event: WireEvent) -> None:
        """Write the notice of an event to its chat, if that is on this channel."""
        ...


@dataclass(frozen=True, slots=True)
class ChatNotice:
    """A kind of notice: the events that it is about, and its sender on a channel, which `create` returns."""

    is_about: Callable[[WireEvent], bool]
    create: Callable[[Channel, HostStore, OutboundWriter], NoticeSender]
