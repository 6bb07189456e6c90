"""FIFO queue of packets for one slow client: counts memory in bytes, and merges consecutive chunks of a reply."""

import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.hub.protocol.socketio_packets import encode_event_packet
from sophon_hosting.hub.sending.event_encoding import EncodedEvent, EngineMessageFactory
from sophon_hosting.hub.sending.total_send_limit import LimitedPacket, SendLimit

REASONING_EVENT = "reasoning_chunk"
CHUNK_EVENTS = frozenset({"stream_chunk", REASONING_EVENT})

MAX_MERGED_CHARACTERS = 32 * 1024
"""Maximum characters of merged chunks; beyond it a new packet begins, so that no packet takes long to send."""

MAX_SEPARATE_TEXTS = 64
"""Maximum number of texts kept separately; beyond it they are joined, because each string costs about 50 bytes."""


class QueuedPacket(LimitedPacket, Protocol):
    """Content of one outgoing packet; `size` is its memory until it is sent."""

    def engine_message(self, make_message: EngineMessageFactory) -> object:
        """Return the Engine.IO message that carries the packet, made by `make_message`."""
        ...


class TextPacket:
    """A packet of fixed text for one client."""

    __slots__ = ("_text", "size")

    shared = None

    def __init__(self, text: str) -> None:
        self._text, self.size = text, sys.getsizeof(text)

    def engine_message(self, make_message: EngineMessageFactory) -> object:
        """Return the Engine.IO message that carries the packet."""
        return make_message(self._text)


class EventPacket:
    """The packet of an event, encoded once for all clients that receive the event."""

    __slots__ = ("shared", "size")

    def __init__(self, message: object) -> None:
        self.shared, self.size = message, sys.getsizeof(message)

    def engine_message(self, make_message: EngineMessageFactory) -> object:
        """Return the Engine.IO message that carries the packet."""
        return self.shared


class AnswerPacket(TextPacket):
    """The acknowledgement of a client's request: the client asked for it, so its size is no sign of a slow client."""

    __slots__ = ()


class MergedChunks:
    """Consecutive chunks of one reply, merged into one packet."""

    __slots__ = ("_characters", "_first", "_namespace", "_texts", "size")

    shared = None

    def __init__(self, first: EncodedEvent, namespace: str) -> None:
        self._first, self._namespace, self.size = first.event, namespace, first.size
        self._texts: list[str] = [first.event.data["text"]]
        self._characters = len(self._texts[0])

    def try_append(self, later: EncodedEvent, namespace: str) -> bool:
        """Merge a later event into this packet and return True; return False if it does not belong or fit."""
        if namespace != self._namespace or not is_same_reply(self._first, later.event):
            return False
        if later.event.name == REASONING_EVENT and not later.event.data["offset"]:
            return False  # it begins anew
        text: str = later.event.data["text"]
        if self._characters + len(text) > MAX_MERGED_CHARACTERS:
            return False
        self._texts.append(text)
        self._characters += len(text)
        self.size += sys.getsizeof(text)
        if len(self._texts) > MAX_SEPARATE_TEXTS:
            self.size -= sum(map(sys.getsizeof, self._texts))
            self._texts = ["".join(self._texts)]
            self.size += sys.getsizeof(self._texts[0])
        return True

    def engine_message(self, make_message: EngineMessageFactory) -> object:
        """Return the Engine.IO message that carries the merged chunk."""
        return make_message(encode_event_packet(self._namespace, merge_chunks(self._first, self._texts).encode()))


class PacketQueue:
    """FIFO queue of packets, which counts them in the budget of all clients."""

    def __init__(self, budget: SendLimit) -> None:
        self._packets: deque[QueuedPacket] = deque()
        self._budget = budget
        self.size = 0
        """Memory of all packets in bytes."""

    def append(self, packet: QueuedPacket) -> None:
        """Append a packet."""
        self._packets.append(packet)
        self.size += packet.size
        self._budget.hold(packet)

    def append_event(self, encoded: EncodedEvent, namespace: str) -> None:
        """Append an event; a chunk is merged into the last packet if possible. Keeps the message only, not the
        event.
        """
        if encoded.event.name not in CHUNK_EVENTS:
            self.append(EventPacket(encoded.engine_message(namespace)))
            return
        last = self._packets[-1] if self._packets else None
        previous_size = last.size if last is not None else 0
        if isinstance(last, MergedChunks) and last.try_append(encoded, namespace):
            self.size += last.size - previous_size
            self._budget.resize(last.size - previous_size)
        else:
            self.append(MergedChunks(encoded, namespace))

    def clear(self) -> None:
        """Drop all packets."""
        self.pop_batch(len(self._packets), self.size)

    def sum_shares(self, share_of: Callable[[LimitedPacket], float]) -> float:
        """Return the sum of `share_of` over all packets."""
        return sum(map(share_of, self._packets))

    def pop_batch(self, max_packets: int, max_bytes: int) -> Sequence[QueuedPacket]:
        """Remove and return the first packets, as many as fit but at least one; empty if the queue is empty."""
        batch: list[QueuedPacket] = []
        remaining = max_bytes
        while self._packets and len(batch) < max_packets and (not batch or self._packets[0].size <= remaining):
            packet = self._packets.popleft()
            remaining -= packet.size
            self.size -= packet.size
            self._budget.release(packet)
            batch.append(packet)
        return batch

    def __len__(self) -> int:
        return len(self._packets)


def is_same_reply(one: WireEvent, other: WireEvent) -> bool:
    """Return whether two events are chunks of the same text of the same run, and may be merged."""
    keys = ("session_id", "task_id", "run_id", "epoch", "reasoning_id")
    return (
        one.name == other.name
        and one.name in CHUNK_EVENTS
        and all(one.data.get(key) == other.data.get(key) for key in keys)
    )


def merge_chunks(first: WireEvent, texts: Sequence[str]) -> WireEvent:
    """Return one chunk with the concatenated texts, and the other fields of the first chunk."""
    return WireEvent(first.name, {**first.data, "text": "".join(texts)}, first.session_id, first.task_id, first.seq)
