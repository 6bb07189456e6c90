"""Bounded send buffer of one connection, with back-pressure: passes a few packets to Engine.IO and queues the rest.

Engine.IO's own queue is unbounded and has no back-pressure: it keeps every packet until the client takes it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from sophon.clock import Clock
from sophon_hosting.hub.encoding import Encoded, Message
from sophon_hosting.hub.limits import Limits
from sophon_hosting.hub.waiting import Parcel, Waiting


class Line(Protocol):
    """The part of a connection that `Outbox` uses."""

    @property
    def queue(self) -> "asyncio.Queue[Any]":
        """Engine.IO's send queue; its writer takes all packets in it at once."""
        ...

    def unsent(self) -> int:
        """Return the number of bytes taken from the queue but not yet accepted by the network."""
        ...


class Outbox:
    """Send buffer of one connection; sends packets in order.

    While nothing is queued, a packet goes directly to Engine.IO: no task, no delay. `too_slow` is called with the
    reason when more than `Limits.buffered_bytes` are queued, or when the client accepts nothing for
    `Limits.stalled_seconds`; the buffer is closed then.
    """

    def __init__(
        self, line: Line, message: Message, clock: Clock, limits: Limits, too_slow: Callable[[str], None]
    ) -> None:
        self._transport, self._make_message, self._clock, self._limits = line, message, clock, limits
        self._on_too_slow = too_slow
        self._queued = Waiting()
        self._held: Waiting | None = None
        # In flight: passed to Engine.IO since its queue was last seen empty.
        self._in_flight_packets = self._in_flight_bytes = 0
        self._sender: asyncio.Task[None] | None = None
        self.closed = False

    @property
    def buffered(self) -> int:
        """Number of buffered bytes, held packets included."""
        return self._queued.size + (self._held.size if self._held else 0)

    def tell(self, encoded: Encoded, namespace: str) -> None:
        """Send an event, or queue it."""
        if self.closed:
            return
        if self._held is None and self._may_send_now(encoded.size):
            self._pass_on(encoded.packet(namespace), encoded.size)
        else:
            self._tail.tell(encoded, namespace)
            self._after_queuing()

    def send(self, parcel: Parcel) -> None:
        """Send a packet, or queue it."""
        if self.closed:
            return
        if self._held is None and self._may_send_now(parcel.size):
            self._pass_on(parcel.packet(self._make_message), parcel.size)
        else:
            self._tail.add(parcel)
            self._after_queuing()

    def hold(self) -> None:
        """Hold back new packets until `release`."""
        self._held = Waiting()

    def release(self, first: Parcel | None = None) -> None:
        """Send `first`, then the held packets, and stop holding."""
        held, self._held = self._held or Waiting(), None
        if first is not None:
            self.send(first)
        for packet in held.take(len(held), held.size):
            self.send(packet)

    def flush(self) -> None:
        """Pass all queued packets to Engine.IO regardless of the limits; for the end of a connection."""
        for packet in self._queued.take(len(self._queued), self._queued.size):
            self._pass_on(packet.packet(self._make_message), packet.size)

    def close(self) -> None:
        """Drop queued packets and ignore new ones."""
        self.closed = True
        self._queued, self._held = Waiting(), None
        if self._sender is not None and self._sender is not asyncio.current_task():
            self._sender.cancel()

    @property
    def _tail(self) -> Waiting:
        """The queue to which new packets are appended."""
        return self._queued if self._held is None else self._held

    def _after_queuing(self) -> None:
        """Start the sender task if needed, and disconnect a client whose buffer is full."""
        if self._held is None and self._sender is None:
            self._sender = asyncio.create_task(self._send_queued())
        if self.buffered > self._limits.buffered_bytes:
            self._give_up(f"{self.buffered:,} bytes are buffered")

    def _may_send_now(self, size: int) -> bool:
        """Return whether a new packet may bypass the queue; it must not overtake queued packets."""
        if self._sender is not None:
            return False
        if self._transport.queue.empty():
            self._in_flight_packets = self._in_flight_bytes = 0
            return True
        limits = self._limits
        return self._in_flight_packets < limits.handed_packets and self._in_flight_bytes + size <= limits.handed_bytes

    def _pass_on(self, message: object, size: int) -> None:
        self._in_flight_packets += 1
        self._in_flight_bytes += size
        self._transport.queue.put_nowait(message)

    async def _send_queued(self) -> None:
        limits = self._limits
        try:
            while len(self._queued):
                if not await self._drained():
                    self._give_up(f"it accepted no data for {limits.stalled_seconds:g} s")
                    return
                self._in_flight_packets = self._in_flight_bytes = 0
                for packet in self._queued.take(limits.handed_packets, limits.handed_bytes):
                    self._pass_on(packet.packet(self._make_message), packet.size)
        finally:
            self._sender = None

    async def _drained(self) -> bool:
        """Wait until Engine.IO's queue is empty; return False if the client accepts no data within the timeout."""
        while True:
            unsent = self._transport.unsent()
            try:
                async with self._clock.timeout(self._limits.stalled_seconds):
                    await self._transport.queue.join()
            except TimeoutError:
                if self._transport.unsent() >= unsent:
                    return False
            else:
                return True

    def _give_up(self, reason: str) -> None:
        self.close()
        self._on_too_slow(reason)
