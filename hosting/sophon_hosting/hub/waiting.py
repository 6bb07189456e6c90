"""What waits for a client that is slow: in order, counted in bytes, pieces of a reply joined to one."""

from collections import deque
from collections.abc import Sequence
from typing import Protocol

from sophon_hosting.events.frame import Frame
from sophon_hosting.hub.encoding import Encoded, Message
from sophon_hosting.hub.packets import event_text, size_of

CHUNK = "stream_chunk"

JOINED_BYTES = 32 * 1024
"""Text of pieces that are joined; with more a new piece begins, so that none is long to send."""


class Parcel(Protocol):
    """Something that goes out as one packet of so many bytes."""

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
        self._text, self.size = text, size_of(text)

    def packet(self, message: Message) -> object:
        """The message that carries it."""
        return message(self._text)


class Told:
    """An event for the clients of one namespace."""

    __slots__ = ("encoded", "namespace", "size")

    def __init__(self, encoded: Encoded, namespace: str) -> None:
        self.encoded, self.namespace, self.size = encoded, namespace, encoded.size

    def packet(self, message: Message) -> object:
        """The message that carries it, which others share."""
        return self.encoded.packet(self.namespace)


class Pieces:
    """Several pieces of one reply, which go out as one."""

    __slots__ = ("_first", "_namespace", "_texts", "size")

    def __init__(self, first: Told) -> None:
        self._first, self._namespace, self.size = first.encoded.frame, first.namespace, first.size
        self._texts = [first.encoded.frame.data["text"]]

    def take_up(self, later: Told) -> bool:
        """Whether the later one is in this one from now on."""
        frame = later.encoded.frame
        if later.namespace != self._namespace or not same_reply(self._first, frame):
            return False
        text = frame.data["text"]
        added = size_of(text)
        if self.size + added > JOINED_BYTES:
            return False
        self._texts.append(text)
        self.size += added
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
        if isinstance(parcel, Told) and parcel.encoded.frame.name == CHUNK:
            last = self._parcels[-1] if self._parcels else None
            before = last.size if last is not None else 0
            if isinstance(last, Pieces) and last.take_up(parcel):
                self.size += last.size - before
                return
            parcel = Pieces(parcel)
        self._parcels.append(parcel)
        self.size += parcel.size

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
