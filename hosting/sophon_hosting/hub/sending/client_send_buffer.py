"""Bounded send buffer of one client: passes a few packets to Engine.IO, queues the rest, cuts off a slow client.

Engine.IO's own queue is unbounded and has no back-pressure: it keeps every packet until the client takes it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from sophon.clock import Clock
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.hub.sending.event_encoding import EncodedEvent, EngineMessageFactory
from sophon_hosting.hub.sending.packet_queue import AnswerPacket, PacketQueue, QueuedPacket
from sophon_hosting.hub.sending.total_send_limit import LimitedPacket, SendLimit


class PacketTransport(Protocol):
    """The part of a connection that `SendBuffer` uses."""

    @property
    def queue(self) -> "asyncio.Queue[Any]":
        """Engine.IO's send queue; its writer takes all packets in it at once."""
        ...

    def unsent_bytes(self) -> int:
        """Return the number of bytes taken from the queue but not yet accepted by the network."""
        ...


class SendBuffer:
    """Send buffer of one connection; sends packets in order.

    While nothing is queued, a packet goes directly to Engine.IO: no task, no delay. `on_too_slow` is called with the
    reason when more than `HubLimits.max_buffered_bytes` are queued, when `budget`, which all buffers share, is exceeded
    and this buffer has the largest part of it, or when the client accepts nothing for
    `HubLimits.stall_timeout_seconds`; the buffer is closed then. Answers to the client's own requests do not count for
    the first of these: `wait_for_answers` delays further requests instead.
    """

    def __init__(
        self,
        transport: PacketTransport,
        make_message: EngineMessageFactory,
        clock: Clock,
        limits: HubLimits,
        on_too_slow: Callable[[str], None],
        budget: SendLimit | None = None,
    ) -> None:
        self._transport, self._make_message, self._clock, self._limits = transport, make_message, clock, limits
        self._on_too_slow = on_too_slow
        self._budget = budget or SendLimit(limits.max_total_buffered_bytes)
        self._budget.add_buffer(self)
        self._queued = PacketQueue(self._budget)
        self._held: PacketQueue | None = None
        # In flight: passed to Engine.IO since its queue was last seen empty.
        self._in_flight_packets = self._in_flight_bytes = 0
        # Answers that are queued here, and those passed to Engine.IO since it was last seen drained.
        self._queued_answer_bytes = self._passed_answer_bytes = 0
        self._drain_progress = asyncio.Event()
        self._sender: asyncio.Task[None] | None = None
        self.is_closed = False
        self.has_waiting_request = False
        """Whether a request waits in `wait_for_answers`; it ends when the client reads on or has stalled."""

    @property
    def buffered_bytes(self) -> int:
        """Number of buffered bytes, held packets included."""
        return self._queued.size + (self._held.size if self._held else 0)

    def send_event(self, encoded: EncodedEvent, namespace: str) -> None:
        """Send an event, or queue it."""
        if self.is_closed:
            return
        if self._held is None and self._may_send_now(encoded.size):
            self._pass_on(encoded.engine_message(namespace), encoded.size)
        else:
            self._tail.append_event(encoded, namespace)
            self._after_queuing()

    def send_packet(self, packet: QueuedPacket) -> None:
        """Send a packet, or queue it."""
        if self.is_closed:
            return
        if self._held is None and self._may_send_now(packet.size):
            self._pass_packet_on(packet)
        else:
            self._queued_answer_bytes += packet.size if isinstance(packet, AnswerPacket) else 0
            self._tail.append(packet)
            self._after_queuing()

    async def wait_for_answers(self, max_bytes: int) -> None:
        """Wait until at most `max_bytes` of answers are unsent, or the buffer is closed: back-pressure on requests."""
        self.has_waiting_request = True
        try:
            while not self.is_closed and self._queued_answer_bytes + self._passed_answer_bytes > max_bytes:
                if self._sender is None:
                    self._sender = asyncio.create_task(self._send_queued())
                self._drain_progress.clear()
                await self._drain_progress.wait()
        finally:
            self.has_waiting_request = False

    def hold(self) -> None:
        """Hold back new packets until `release`."""
        self._held = PacketQueue(self._budget)

    def release(self, first: QueuedPacket | None = None) -> None:
        """Send `first`, then the held packets, and stop holding."""
        held, self._held = self._held, None
        if first is not None:
            self.send_packet(first)
        if held is not None:
            for packet in held.pop_batch(len(held), held.size):
                self.send_packet(packet)

    def flush(self) -> None:
        """Pass all queued packets to Engine.IO regardless of the limits; for the end of a connection."""
        for packet in self._queued.pop_batch(len(self._queued), self._queued.size):
            self._pass_packet_on(packet)

    def close(self) -> None:
        """Drop queued packets and ignore new ones."""
        self.is_closed = True
        self._queued.clear()
        if self._held is not None:
            self._held.clear()
            self._held = None
        self._budget.remove_buffer(self)
        self._queued_answer_bytes = self._passed_answer_bytes = 0
        self._drain_progress.set()
        if self._sender is not None and self._sender is not asyncio.current_task():
            self._sender.cancel()

    def give_up(self, reason: str) -> None:
        """Drop what is queued and report that the client is too slow."""
        self.close()
        self._on_too_slow(reason)

    def compute_share(self, share_of: Callable[[LimitedPacket], float]) -> float:
        """Return the sum of `share_of` over all queued packets, held ones included."""
        return self._queued.sum_shares(share_of) + (self._held.sum_shares(share_of) if self._held else 0)

    @property
    def _tail(self) -> PacketQueue:
        """The queue to which new packets are appended."""
        return self._queued if self._held is None else self._held

    def _after_queuing(self) -> None:
        """Start the sender task if needed, and disconnect a client whose buffer is full."""
        if self._held is None and self._sender is None:
            self._sender = asyncio.create_task(self._send_queued())
        event_bytes = self.buffered_bytes - self._queued_answer_bytes
        if event_bytes > self._limits.max_buffered_bytes:
            self.give_up(f"{event_bytes:,} bytes are buffered")
        else:
            self._budget.enforce()

    def _may_send_now(self, size: int) -> bool:
        """Return whether a new packet may bypass the queue; it must not overtake queued packets."""
        if self._sender is not None:
            return False
        if self._transport.queue.empty():
            self._in_flight_packets = self._in_flight_bytes = 0
            return True
        limits = self._limits
        return (
            self._in_flight_packets < limits.max_in_flight_packets
            and self._in_flight_bytes + size <= limits.max_in_flight_bytes
        )

    def _pass_on(self, message: object, size: int) -> None:
        self._in_flight_packets += 1
        self._in_flight_bytes += size
        self._transport.queue.put_nowait(message)

    def _pass_packet_on(self, packet: QueuedPacket) -> None:
        if isinstance(packet, AnswerPacket):
            self._passed_answer_bytes += packet.size
        self._pass_on(packet.engine_message(self._make_message), packet.size)

    async def _send_queued(self) -> None:
        limits = self._limits
        try:
            while len(self._queued) or self._passed_answer_bytes:
                if not await self._drained():
                    self.give_up(f"it accepted no data for {limits.stall_timeout_seconds:g} s")
                    return
                self._in_flight_packets = self._in_flight_bytes = self._passed_answer_bytes = 0
                for packet in self._queued.pop_batch(limits.max_in_flight_packets, limits.max_in_flight_bytes):
                    self._queued_answer_bytes -= packet.size if isinstance(packet, AnswerPacket) else 0
                    self._pass_packet_on(packet)
                self._drain_progress.set()
        finally:
            self._sender = None
            self._drain_progress.set()

    async def _drained(self) -> bool:
        """Wait until Engine.IO's queue is empty; return False if the client accepts no data within the timeout."""
        while True:
            unsent = self._transport.unsent_bytes()
            try:
                async with self._clock.timeout(self._limits.stall_timeout_seconds):
                    await self._transport.queue.join()
            except TimeoutError:
                if self._transport.unsent_bytes() >= unsent:
                    return False
            else:
                return True
