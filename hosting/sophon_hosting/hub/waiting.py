"""What waits for a client that is slow: in order, counted in bytes of memory, pieces of a reply joined to one."""

import sys
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from sophon_hosting.events.frame import Frame
from sophon_hosting.hub.encoding import Encoded, Message
from sophon_hosting.hub.packets import event_text

CHUNK = "stream_chunk"

JOINED_CHARACTERS = 32 * 1024
"""Of pieces that are joined; after as many a new one begins, so that none is long to send."""

MOST_PIECES = 64
"""Kept apart; then they become one text, since a short text takes up fifty bytes besides its own."""


class Parcel(Protocol):
    """Something that goes out as one packet, and takes up `size` bytes of memory until then."""

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    def packet(self, message: Message) -> object:
        """The message that carries it."""
        ...


class Words:
    """A packet as it is."""

    __slots__ = ("_text", "size")

    def __init__(self, text: str) -> None:
        self._text, self.size = text, sys.getsizeof(text)

    def packet(self, message: Message) -> object:
        """The message that carries it."""
        return message(self._text)


class Pieces:
    """Several pieces of one reply, which go out as one."""

    __slots__ = ("_characters", "_first", "_namespace", "_texts", "size")

    def __init__(self, first: Encoded, namespace: str) -> None:
        self._first, self._namespace, self.size = first.frame, namespace, first.size
        self._texts: list[str] = [first.frame.data["text"]]
        self._characters = len(self._texts[0])

    def take_up(self, later: Encoded, namespace: str) -> bool:
        """Whether the later one is in this one from now on."""
        if namespace != self._namespace or not same_reply(self._first, later.frame):
            return False
        text: str = later.frame.data["text"]
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
        """The message that carries it."""
        return message(event_text(self._namespace, joined(self._first, self._texts).text()))


class Waiting:
    """Parcels in order."""

    def __init__(self) -> None:
        self._parcels: deque[Parcel] = deque()
        self.size = 0
        """Bytes."""

    def add(self, parcel: Parcel) -> None:
        """At the end."""
        self._parcels.append(parcel)
        self.size += parcel.size

    def tell(self, encoded: Encoded, namespace: str) -> None:
        """At the end, an event: of what it is made of only the text is kept, once."""
        if encoded.frame.name != CHUNK:
            self.add(Words(encoded.text(namespace)))
            return
        last = self._parcels[-1] if self._parcels else None
        before = last.size if last is not None else 0
        if isinstance(last, Pieces) and last.take_up(encoded, namespace):
            self.size += last.size - before
        else:
            self.add(Pieces(encoded, namespace))

    def take(self, most_packets: int, most_bytes: int) -> Sequence[Parcel]:
        """The first ones, as many as fit, and at least one; nothing if nothing waits."""
        taken: list[Parcel] = []
        room = most_bytes
        while self._parcels and len(taken) < most_packets and (not taken or self._parcels[0].size <= room):
            parcel = self._parcels.popleft()
            room -= parcel.size
            self.size -= parcel.size
            taken.append(parcel)
        return taken

    def __len__(self) -> int:
        return len(self._parcels)


def same_reply(one: Frame, other: Frame) -> bool:
    """Whether two frames are pieces of the same epoch of the same run, so that one can go on with the other."""
    return one.name == other.name == CHUNK and all(
        one.data.get(key) == other.data.get(key) for key in ("session_id", "task_id", "run_id", "epoch")
    )


def joined(first: Frame, texts: Sequence[str]) -> Frame:
    """One piece in the place of the first, with all their text."""
    return Frame(first.name, {**first.data, "text": "".join(texts)}, first.session_id, first.task_id, first.seq)
