"""Total send limit: bound of the data that is queued for all clients together; `client_send_buffer` has each one's."""

from collections.abc import Callable
from typing import Protocol


class LimitedPacket(Protocol):
    """A queued packet."""

    @property
    def size(self) -> int:
        """Memory in bytes."""
        ...

    @property
    def shared(self) -> object | None:
        """Message that other clients may wait for too; None if the packet has its memory to itself."""
        ...


class LimitedBuffer(Protocol):
    """Send buffer of one client."""

    def compute_share(self, share_of: Callable[[LimitedPacket], float]) -> float:
        """Return the sum of `share_of` over all queued packets."""
        ...

    def give_up(self, reason: str) -> None:
        """Drop what is queued, and disconnect the client."""
        ...


class SendLimit:
    """Budget of the data queued for all clients together; a message for which several clients wait counts once.

    Beyond `max_bytes` the client with the largest share is disconnected, then the next; a message's share is its size
    by the number of clients that wait for it. Without counted sharing, a hundred slow clients of one session would cost
    as much as a hundred sessions. Not counted is what was passed to the network: for each client at most
    `HubLimits.max_in_flight_bytes` in the queue of Engine.IO and again in the write buffer, or one larger packet each.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._holders: dict[int, int] = {}
        """Number of queues that hold a message, by its identity."""
        self._buffers: set[LimitedBuffer] = set()
        self.used_bytes = 0
        """Memory of all queued packets in bytes."""

    def add_buffer(self, buffer: LimitedBuffer) -> None:
        """Add the buffer of a client."""
        self._buffers.add(buffer)

    def remove_buffer(self, buffer: LimitedBuffer) -> None:
        """Remove the buffer of a client; its packets have been released."""
        self._buffers.discard(buffer)

    def hold(self, packet: LimitedPacket) -> None:
        """Count a packet that was queued."""
        if packet.shared is not None:
            key = id(packet.shared)
            holders = self._holders[key] = self._holders.get(key, 0) + 1
            if holders > 1:
                return
        self.used_bytes += packet.size

    def release(self, packet: LimitedPacket) -> None:
        """Count a packet that is no longer queued."""
        if packet.shared is not None:
            key = id(packet.shared)
            if self._holders[key] > 1:
                self._holders[key] -= 1
                return
            del self._holders[key]
        self.used_bytes -= packet.size

    def resize(self, change: int) -> None:
        """Count the change in size of a packet that is not shared."""
        self.used_bytes += change

    def enforce(self) -> None:
        """Disconnect clients until the budget suffices."""
        while self.used_bytes > self._max_bytes and self._buffers:
            largest = max(self._buffers, key=lambda buffer: buffer.compute_share(self._share_of))
            self._buffers.discard(largest)
            largest.give_up(f"{self.used_bytes:,} bytes are buffered for all clients, most of them for this one")

    def _share_of(self, packet: LimitedPacket) -> float:
        return packet.size / (1 if packet.shared is None else self._holders[id(packet.shared)])
