"""Member: one host process at the broker; it finds the process that schedules, or is that process."""

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Callable
from typing import Any

from sophon.failure_log import log_failure
from sophon_hosting.queue.contract import Delivery
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.rabbitmq.connection import OPERATION_SECONDS, BrokerConnection, BrokerError
from sophon_hosting.queue.rabbitmq.connection_keeper import ConnectionKeeper
from sophon_hosting.queue.rabbitmq.coordinator import BackgroundWork, Coordinator
from sophon_hosting.queue.rabbitmq.coordinator_calls import CallServer, PendingCalls, perform
from sophon_hosting.queue.rabbitmq.records import INQUIRY_SECONDS, Inquiry, decode_record, encode_inquiry
from sophon_hosting.queue.rabbitmq.scheduler_heartbeat import BEAT_SECONDS, SILENCE_BEATS, Heartbeat
from sophon_hosting.queue.rabbitmq.topology import Topology
from sophon_hosting.queue.rabbitmq.wire_messages import decode_error, decode_message, encode_message

log = logging.getLogger("sophon")

BuildCoordinator = Callable[[BrokerConnection, str, Heartbeat], Coordinator]
"""Builds the coordinator on a connection, for the member of this id, from the newest beat of its predecessor."""


class OpenDeliveries:
    """Open deliveries by token, and those that are done but could not be acknowledged yet."""

    def __init__(self) -> None:
        self._open: dict[int, Delivery] = {}
        self._ended: dict[int, Delivery] = {}

    def __len__(self) -> int:
        """The number of open deliveries."""
        return len(self._open)

    def add(self, delivery: Delivery) -> None:
        """Add a delivery that was taken."""
        self._open[delivery.fencing_token] = delivery

    def drop(self, delivery: Delivery) -> None:
        """Forget a delivery: it was acknowledged or given back, or is stale."""
        self._open.pop(delivery.fencing_token, None)

    def drop_stale(self, tokens: list[int]) -> None:
        """Forget deliveries that the scheduling process does not know any more."""
        for token in tokens:
            self._open.pop(token, None)

    def end(self, delivery: Delivery) -> None:
        """Note that a delivery is done and could not be acknowledged; the next greeting does it."""
        if self._open.pop(delivery.fencing_token, None) is not None:
            self._ended[delivery.fencing_token] = delivery

    def settle_all(self) -> None:
        """Forget all that were acknowledged by a greeting."""
        self._ended.clear()

    def list_open(self) -> list[Delivery]:
        """Return the open deliveries."""
        return [*self._open.values()]

    def list_ended(self) -> list[Delivery]:
        """Return what is done and not acknowledged."""
        return [*self._ended.values()]


class Member:
    """One process at the broker: whether it schedules, or who does, and the calls of that process.

    The broker decides which process that is: the queue of entries has a single active consumer. Whoever receives a
    message of it asks through the same queue; when its own question arrives, it has all that was there before, and
    begins to serve. It then tells the others by a beat every second. `on_change` is called when another process, or
    another connection, schedules from now on.
    """

    def __init__(
        self,
        url: str,
        label: str,
        topology: Topology,
        lease_seconds: float,
        open_deliveries: OpenDeliveries,
        build: BuildCoordinator,
        on_change: Callable[[], None],
    ) -> None:
        self.id = uuid.uuid4().hex[:16]
        self.beat = Heartbeat()
        self._tick_seconds = min(BEAT_SECONDS, lease_seconds / 5)
        self._open_deliveries, self._build, self._on_change = open_deliveries, build, on_change
        heartbeat_seconds = max(2, round(lease_seconds / 2))
        self._keeper = ConnectionKeeper(
            url, label, topology, self.id, heartbeat_seconds, self, on_open=self._ask, on_end=self._detach
        )
        self._coordinator: Coordinator | None = None
        self._started: Coordinator | None = None
        self._server: CallServer | None = None
        self._calls = PendingCalls()
        # Ids of the process that schedules and of its term; None while unknown.
        self._leader: tuple[str, str] | None = None
        self._terms = 0
        self._inquiry = ""
        self._heard = 0.0
        self._changed = asyncio.Event()
        self._work = BackgroundWork()

    @property
    def coordinator(self) -> Coordinator | None:
        """The coordinator, if this process schedules."""
        return self._coordinator if self._coordinator is not None and self._coordinator.is_serving else None

    async def open(self) -> None:
        """Connect, and find who schedules. Raises QueueUnavailable if the broker does not answer."""
        self._work.attempt(self._keeper.run())
        self._work.attempt(self._tick_forever())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * OPERATION_SECONDS):
                while self._leader is None and not self._keeper.is_away:
                    await self._changed.wait()
        if self._leader is None:
            reason = self._keeper.reason if self._keeper.is_away else "no process that schedules has answered"
            await self.close()
            raise QueueUnavailable(self._keeper.label, reason)

    async def close(self) -> None:
        """Close the connection; another process goes on with what it had."""
        await self._work.stop()
        await self._keeper.close()

    async def call(self, operation: str, *arguments: Any, seconds: float | None = OPERATION_SECONDS) -> Any:
        """Let the process that schedules perform an operation.

        Raises QueueFull, and QueueUnavailable if none answers within `seconds`, at once while the broker is away; with
        None it waits.
        """
        try:
            async with asyncio.timeout(seconds):
                while True:
                    changed = self._changed
                    if (coordinator := self.coordinator) is not None:
                        return await perform(coordinator, self.id, operation, arguments)
                    connection = self._keeper.connection
                    if self._leader is not None and connection is not None:
                        fields = await self._call_leader(connection, self._leader[0], operation, arguments)
                        if fields is not None:
                            return fields["value"]
                    elif self._keeper.is_away and seconds is not None:
                        raise QueueUnavailable(self._keeper.label, self._keeper.reason)
                    else:
                        await changed.wait()
        except BrokerError as error:
            raise QueueUnavailable(self._keeper.label, str(error)) from error
        except TimeoutError as error:
            raise QueueUnavailable(self._keeper.label, "no process that schedules has answered") from error

    async def _call_leader(
        self, connection: BrokerConnection, leader_id: str, operation: str, arguments: tuple[Any, ...]
    ) -> dict[str, Any] | None:
        """Call another process and return its reply; None if another one schedules before it comes."""
        changed = self._changed
        call_id, reply = self._calls.begin()
        message = {"type": "call", "from": self.id, "id": call_id, "operation": operation, "arguments": arguments}
        waiting = asyncio.ensure_future(changed.wait())
        try:
            await connection.send(leader_id, encode_message(message))
            await asyncio.wait((reply, waiting), return_when=asyncio.FIRST_COMPLETED)
        except BrokerError:
            # It is gone, or this process is cut off; the next beat or connection tells.
            await changed.wait()
        except asyncio.CancelledError:
            self._send_later(leader_id, {"type": "cancel", "from": self.id, "id": call_id})
            if reply.done() and not reply.cancelled():
                self._give_back(reply.result())
            raise
        finally:
            waiting.cancel()
            self._calls.end(call_id)
        if not reply.done():
            return None
        fields = reply.result()
        if "error" in fields:
            raise decode_error(fields["error"], self._keeper.label)
        return fields

    # What arrives.

    def on_task(self, message_id: str, body: bytes, tag: int, deliveries: int) -> None:
        """Take a message of the queue of entries, which makes this process the one that schedules."""
        connection = self._keeper.connection
        if connection is None:
            return
        try:
            content = decode_record(body)
        except ValueError as error:
            log.warning("a message of the queue cannot be read, it goes to the dead letters: %s", error)
            connection.reject(tag)
            return
        if self._coordinator is None:
            self._terms += 1
            self._inquiry = f"{self.id}.{self._terms}"
            self._coordinator = self._build(connection, self.id, self.beat)
            self._work.attempt(self._ask(connection))
        coordinator = self._coordinator
        if not isinstance(content, Inquiry):
            coordinator.on_record(message_id, content, tag, deliveries)
            return
        connection.acknowledge(tag)
        if coordinator.is_serving:
            self._work.attempt(self._announce())
        elif content.member_id == self._inquiry and self._started is not coordinator:
            # Once: a second start would take what is just being delivered for lost, and give it back.
            self._started = coordinator
            self._work.attempt(self._start(connection, coordinator))

    def on_member_message(self, body: bytes) -> None:
        """Take a message of another process."""
        self._keeper.note_message()
        try:
            fields = decode_message(body)
        except ValueError as error:
            log.warning("a message of another host cannot be read: %s", error)
            return
        kind, sender = fields.get("type"), str(fields.get("from", ""))
        coordinator = self.coordinator
        if kind == "beat" and coordinator is None:
            self._on_beat(sender, fields)
        elif kind == "reply" and not self._calls.on_reply(fields):
            self._give_back(fields)
        elif kind == "stale":
            self._open_deliveries.drop_stale(fields["tokens"])
        elif coordinator is None or self._server is None:
            return
        elif kind == "call":
            self._server.on_call(sender, str(fields["id"]), str(fields["operation"]), fields["arguments"])
        elif kind == "cancel":
            self._server.on_cancel(sender, str(fields["id"]))
        elif kind == "greeting":
            stale = coordinator.claim(sender, fields["open"], fields["ended"])
            if stale:
                self._send_later(sender, {"type": "stale", "tokens": stale})

    def _on_beat(self, sender: str, fields: dict[str, Any]) -> None:
        self.beat, self._heard = Heartbeat.from_fields(fields), _now()
        leader = (sender, str(fields["term"]))
        if leader != self._leader:
            greeting = {"type": "greeting", "from": self.id}
            held = {"open": self._open_deliveries.list_open(), "ended": self._open_deliveries.list_ended()}
            self._open_deliveries.settle_all()
            self._send_later(sender, {**greeting, **held})
            self._follow(leader)

    def _give_back(self, fields: dict[str, Any]) -> None:
        """Give back a delivery whose taker has gone meanwhile."""
        delivery = fields.get("value")
        if isinstance(delivery, Delivery):
            self._work.attempt(self.call("nack", delivery, False, 0.0))

    # Terms.

    async def _start(self, connection: BrokerConnection, coordinator: Coordinator) -> None:
        """Begin to schedule."""
        try:
            await coordinator.start()
        except BrokerError as error:
            log.warning("scheduling could not begin: %s", error)
            await connection.close()
            return
        if connection is not self._keeper.connection:
            return
        self._server = CallServer(coordinator, connection)
        stale = coordinator.claim(self.id, self._open_deliveries.list_open(), self._open_deliveries.list_ended())
        self._open_deliveries.settle_all()
        self._open_deliveries.drop_stale(stale)
        self._follow((self.id, self._inquiry))
        await self._announce()

    async def _announce(self) -> None:
        coordinator, connection = self.coordinator, self._keeper.connection
        if coordinator is not None and connection is not None:
            self.beat = coordinator.beat()
            fields = {"type": "beat", "from": self.id, "term": self._inquiry, **self.beat.to_fields()}
            await connection.broadcast(encode_message(fields))

    async def _ask(self, connection: BrokerConnection) -> None:
        """Ask through the queue of entries who schedules."""
        self._heard = _now()
        inquiry = Inquiry(self._inquiry or self.id)
        await connection.publish_task(uuid.uuid4().hex, encode_inquiry(inquiry), ttl_seconds=INQUIRY_SECONDS)

    def _follow(self, leader: tuple[str, str] | None) -> None:
        self._leader = leader
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        self._on_change()

    # Connections.

    def _detach(self) -> None:
        """Forget what was of the connection that has ended."""
        coordinator, self._coordinator = self._coordinator, None
        server, self._server = self._server, None
        self._inquiry = ""
        if server is not None:
            server.stop()
        if coordinator is not None:
            coordinator.stop()
        self._follow(None)

    async def _tick_forever(self) -> None:
        last = _now()
        while True:
            await asyncio.sleep(self._tick_seconds)
            stall_seconds = _now() - last - self._tick_seconds
            last = _now()
            if (connection := self._keeper.find_responsive(stall_seconds)) is None:
                continue
            try:
                await self._tick(connection, last)
            except BrokerError as error:
                log.debug("the queue's broker did not take a message: %s", error)
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "the task queue could not be looked after")
            last = _now()

    async def _tick(self, connection: BrokerConnection, now: float) -> None:
        if (coordinator := self.coordinator) is not None:
            await coordinator.tick()
            await self._announce()
            return
        if now - self._heard > SILENCE_BEATS * BEAT_SECONDS:
            await self._ask(connection)
        await connection.send(self.id, b"{}")

    def _send_later(self, member_id: str, fields: dict[str, Any]) -> None:
        connection = self._keeper.connection
        if connection is not None:
            self._work.attempt(connection.send(member_id, encode_message(fields)))


def _now() -> float:
    return asyncio.get_running_loop().time()
