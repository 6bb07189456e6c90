"""FIFO queue of packets for one slow client: counts memory in bytes, and merges consecutive chunks of a reply."""

import sys
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from sophon_hosting.events.frame import Frame
from sophon_hosting.hub.encoding import Encoded, Message
from sophon_hosting.hub.packets import event_text

CHUNK = "stream_chunk"

JOINED_CHARACTERS = 32 * 1024
"""Maximum characters of merged chunks; beyond it a new packet begins, so that no packet takes long to send."""

MOST_PIECES = 64
"""Maximum number of texts kept separately; beyond it they are joined, because each string costs about 50 bytes."""


class Parcel(Protocol):
    """Content of one outgoing packet."""

    @property
    def size(self) -> int:
        """Memory in bytes until the packet is sent."""
        ...

    def packet(self, message: Message) -> object:
        """Return the Engine.IO message that carries the packet, made by `message`."""
        ...


class Words:
    """A packet of fixed text."""

    __slots__ = ("_text", "size")

    def __init__(self, text: str) -> None:
        self._text, self.size = text, sys.getsizeof(text)

    def packet(self, message: Message) -> object:
        """Return the Engine.IO message that carries the packet."""
        return message(self._text)


class Pieces:
    """Consecutive chunks of one reply, merged into one packet."""

    __slots__ = ("_characters", "_first", "_namespace", "_texts", "size")

    def __init__(self, first: Encoded, namespace: str) -> None:
        self._first, self._namespace, self.size = first.event, namespace, first.size
        self._texts: list[str] = [first.event.data["text"]]
        self._characters = len(self._texts[0])

    def take_up(self, later: Encoded, namespace: str) -> bool:
        """Merge a later event into this packet and return True; return False if it does not belong or fit."""
        if namespace != self._namespace or not same_reply(self._first, later.event):
            return False
        text: str = later.event.data["text"]
        if self._characters + len(text) > JOINED_CHARACTERS:
            return False
        self._texts.append(text)
        self._characters += len(text)
        self.size += sys.getsizeof(text)
        if len(self._texts) > MOST_PIECES:
            self.size -= sum(map(sys.getsizeof, self._texts))
            self._texts = ["".join(self._texts)]
            self.size += sys.getsizeof(self._texts[0])
        return True

    def packet(self, message: Message) -> object:
        """Return the Engine.IO message that carries the merged chunk."""
        return message(event_text(self._namespace, joined(self._first, self._texts).text()))


class Waiting:
    """FIFO queue of packets."""

    def __init__(self) -> None:
        self._packets: deque[Parcel] = deque()
        self.size = 0
        """Memory of all packets in bytes."""

    def add(self, parcel: Parcel) -> None:
        """Append a packet."""
        self._packets.append(parcel)
        self.size += parcel.size

    def tell(self, encoded: Encoded, namespace: str) -> None:
        """Append an event; a chunk is merged into the last packet if possible. Keeps the text only, not the event."""
        if encoded.event.name != CHUNK:
            self.add(Words(encoded.text(namespace)))
            return
        last = self._packets[-1] if self._packets else None
        previous_size = last.size if last is not None else 0
        if isinstance(last, Pieces) and last.take_up(encoded, namespace):
            self.size += last.size - previous_size
        else:
            self.add(Pieces(encoded, namespace))

    def take(self, most_packets: int, most_bytes: int) -> Sequence[Parcel]:
        """Remove and return the first packets, as many as fit but at least one; empty if the queue is empty."""
        batch: list[Parcel] = []
        remaining = most_bytes
        while self._packets and len(batch) < most_packets and (not batch or self._packets[0].size <= remaining):
            packet = self._packets.popleft()
            remaining -= packet.size
            self.size -= packet.size
            batch.append(packet)
        return batch

    def __len__(self) -> int:
        return len(self._packets)


def same_reply(one: Frame, other: Frame) -> bool:
    """Return whether two events are chunks of the same epoch of the same run, and may be merged."""
    return one.name == other.name == CHUNK and all(
        one.data.get(key) == other.data.get(key) for key in ("session_id", "task_id", "run_id", "epoch")
    )


def joined(first: Frame, texts: Sequence[str]) -> Frame:
    """Return one chunk with the concatenated texts, and the other fields of the first chunk."""
    return Frame(first.name, {**first.data, "text": "".join(texts)}, first.session_id, first.task_id, first.seq)
