"""What goes to one client: a little is in Engine.IO's hands, the rest waits here, counted and bounded.

Engine.IO's own queue has no bound and never pushes back: whatever is put into it is kept until the client takes it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from sophon.clock import Clock
from sophon_hosting.hub.encoding import Encoded, Message
from sophon_hosting.hub.limits import Limits
from sophon_hosting.hub.waiting import Parcel, Waiting


class Line(Protocol):
    """The connection as the outbox sees it."""

    @property
    def queue(self) -> "asyncio.Queue[Any]":
        """What Engine.IO sends next; whoever sends takes all that is in it at once."""
        ...

    def unsent(self) -> int:
        """Bytes that were taken from the queue and that the network has not taken yet."""
        ...


class Outbox:
    """Sends in the order in which it is told to.

    While nothing waits, what comes goes straight into the queue: no task, no delay. `too_slow` is called, with the
    reason, when more than `buffered_bytes` wait, or when the client takes nothing for `stalled_seconds`.
    """

    def __init__(
        self, line: Line, message: Message, clock: Clock, limits: Limits, too_slow: Callable[[str], None]
    ) -> None:
        self._line, self._message, self._clock, self._limits = line, message, clock, limits
        self._too_slow = too_slow
        self._waiting = Waiting()
        self._held: Waiting | None = None
        self._packets = self._bytes = 0  # handed over since the queue was last seen empty
        self._sender: asyncio.Task[None] | None = None
        self.closed = False

    @property
    def buffered(self) -> int:
        """Bytes that wait here."""
        return self._waiting.size + (self._held.size if self._held else 0)

    def tell(self, encoded: Encoded, namespace: str) -> None:
        """Send an event."""
        if self.closed:
            return
        if self._held is None and self._has_room(encoded.size):
            self._hand(encoded.packet(namespace), encoded.size)
        else:
            self._last.tell(encoded, namespace)
            self._grown()

    def send(self, parcel: Parcel) -> None:
        """Send a packet."""
        if self.closed:
            return
        if self._held is None and self._has_room(parcel.size):
            self._hand(parcel.packet(self._message), parcel.size)
        else:
            self._last.add(parcel)
            self._grown()

    def hold(self) -> None:
        """Keep back what comes from now on, until `release`."""
        self._held = Waiting()

    def release(self, first: Parcel | None = None) -> None:
        """Send one packet, then what was kept back, then go on."""
        held, self._held = self._held or Waiting(), None
        if first is not None:
            self.send(first)
        for parcel in held.take(len(held), held.size):
            self.send(parcel)

    def flush(self) -> None:
        """Hand over all that waits, however slow the client is: it is the last that it gets."""
        for parcel in self._waiting.take(len(self._waiting), self._waiting.size):
            self._hand(parcel.packet(self._message), parcel.size)

    def close(self) -> None:
        """Forget what waits, and take nothing more."""
        self.closed = True
        self._waiting, self._held = Waiting(), None
        if self._sender is not None and self._sender is not asyncio.current_task():
            self._sender.cancel()

    @property
    def _last(self) -> Waiting:
        """Where what is new has to wait."""
        return self._waiting if self._held is None else self._held

    def _grown(self) -> None:
        """More waits than before."""
        if self._held is None and self._sender is None:
            self._sender = asyncio.create_task(self._send_waiting())
        if self.buffered > self._limits.buffered_bytes:
            self._give_up(f"{self.buffered:,} bytes wait for it")

    def _has_room(self, size: int) -> bool:
        """Whether something new may go into the queue; nothing overtakes what waits."""
        if self._sender is not None:
            return False
        if self._line.queue.empty():
            self._packets = self._bytes = 0
            return True
        return self._packets < self._limits.handed_packets and self._bytes + size <= self._limits.handed_bytes

    def _hand(self, packet: object, size: int) -> None:
        self._packets += 1
        self._bytes += size
        self._line.queue.put_nowait(packet)

    async def _send_waiting(self) -> None:
        limits = self._limits
        try:
            while len(self._waiting):
                if not await self._taken():
                    self._give_up(f"it took nothing for {limits.stalled_seconds:g} s")
                    return
                self._packets = self._bytes = 0
                for parcel in self._waiting.take(limits.handed_packets, limits.handed_bytes):
                    self._hand(parcel.packet(self._message), parcel.size)
        finally:
            self._sender = None

    async def _taken(self) -> bool:
        """Wait until the queue is empty; False if the client takes nothing in the meantime."""
        while True:
            unsent = self._line.unsent()
            try:
                async with self._clock.timeout(self._limits.stalled_seconds):
                    await self._line.queue.join()
            except TimeoutError:
                if self._line.unsent() >= unsent:
                    return False
            else:
                return True

    def _give_up(self, reason: str) -> None:
        self.close()
        self._too_slow(reason)
