"""Connection to the broker: declarations, publishing with confirms, and what arrives; it ends at the first trouble."""

import asyncio
import contextlib
from collections.abc import Callable, Generator
from datetime import datetime
from typing import Protocol

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, ExchangeType
from aio_pika.exceptions import CONNECTION_EXCEPTIONS, DeliveryError, PublishError
from aiormq.abc import AbstractChannel as RawChannel
from aiormq.abc import DeliveredMessage

from sophon_hosting.queue.rabbitmq.topology import PREFETCH, Topology

OPERATION_SECONDS = 5.0
"""Time after which an operation on the broker has failed."""


class BrokerError(Exception):
    """The broker cannot be reached, or refused what was asked."""


class PublishRefused(BrokerError):
    """The broker answered a publish with basic.nack: its queue is full."""


class NoSuchQueue(BrokerError):
    """The broker returned a publish: there is no queue that takes it."""


class Receiver(Protocol):
    """What a connection calls when a message arrives."""

    def on_task(self, message_id: str, body: bytes, tag: int, deliveries: int) -> None:
        """Take a message of the queue of entries; `tag` acknowledges it, `deliveries` is the broker's count so far."""
        ...

    def on_member_message(self, body: bytes) -> None:
        """Take a message of another host process."""
        ...


class BrokerConnection:
    """One connection with its three channels; after any failure of one of them it is closed and another is opened.

    Nothing is repaired in place: a new connection has new delivery tags, and the broker gives back all that was not
    acknowledged. `acknowledge` therefore ignores a closed channel.
    """

    def __init__(self, topology: Topology, member_id: str) -> None:
        self._topology, self._member_id = topology, member_id
        self._connection: AbstractConnection | None = None
        self._consuming: RawChannel | None = None
        self._publishing: RawChannel | None = None
        self._sending: RawChannel | None = None
        self._answers: asyncio.Queue[tuple[int, bool]] = asyncio.Queue()
        self._answering: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self.reason = "not connected"

    async def open(self, url: str, heartbeat_seconds: int, receiver: Receiver) -> None:
        """Connect, declare and consume. Raises BrokerError."""
        try:
            with translate_errors():
                async with asyncio.timeout(2 * OPERATION_SECONDS):
                    self._connection = await aio_pika.connect(
                        url, timeout=OPERATION_SECONDS, heartbeat=heartbeat_seconds
                    )
                    self._connection.close_callbacks.add(self._on_connection_closed)
                    await self._declare()
                    self._publishing = await self._open_channel()
                    self._sending = await self._open_channel()
                    await self._consume(receiver)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection; what was not acknowledged returns to the broker."""
        if self.is_open and self._answering is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._answers.join(), OPERATION_SECONDS)
        self.end("closed")
        if self._answering is not None:
            self._answering.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(BrokerError), translate_errors():
                async with asyncio.timeout(OPERATION_SECONDS):
                    await connection.close()

    @property
    def is_open(self) -> bool:
        """Whether nothing has ended the connection."""
        return not self._ended.is_set()

    async def wait_ended(self) -> None:
        """Wait until the connection has ended; `reason` tells why."""
        await self._ended.wait()

    async def publish_task(self, message_id: str, body: bytes, *, ttl_seconds: float | None = None) -> None:
        """Publish to the queue of entries, and wait for the confirm.

        Raises PublishRefused if the queue is full, NoSuchQueue, or BrokerError.
        """
        message = aio_pika.Message(
            body, message_id=message_id, delivery_mode=aio_pika.DeliveryMode.PERSISTENT, expiration=ttl_seconds
        )
        await self._publish(self._publishing, "", self._topology.tasks, message)

    async def publish_dead(self, body: bytes) -> None:
        """Publish a dead letter, and wait for the confirm. Raises BrokerError."""
        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await self._publish(self._publishing, self._topology.dead, "", message)

    async def send(self, member_id: str, body: bytes) -> None:
        """Send to one host process. Raises NoSuchQueue if it has no connection, or BrokerError."""
        await self._publish(self._sending, "", self._topology.member(member_id), aio_pika.Message(body))

    async def broadcast(self, body: bytes) -> None:
        """Send to all host processes, this one too. Raises BrokerError."""
        await self._publish(self._sending, self._topology.members, "", aio_pika.Message(body))

    async def flush(self, member_id: str) -> None:
        """Wait until the acknowledgements were sent, and a message to oneself after them was taken.

        Raises BrokerError.
        """
        ended = asyncio.ensure_future(self._ended.wait())
        joined = asyncio.ensure_future(self._answers.join())
        try:
            await asyncio.wait((ended, joined), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            joined.cancel()
        await self.send(member_id, b"{}")

    def acknowledge(self, tag: int) -> None:
        """Acknowledge a message of the queue of entries; ignored after the end of the connection."""
        self._answers.put_nowait((tag, True))

    def reject(self, tag: int) -> None:
        """Give a message that cannot be read to the dead letters."""
        self._answers.put_nowait((tag, False))

    async def read_dead(self, wanted: Callable[[bytes], bool] = lambda _: False) -> list[tuple[bytes, float | None]]:
        """Return all dead letters, oldest first, and remove those that are `wanted`.

        Each comes with the time (seconds since 1970) at which the broker moved it, if it was the broker. They are read
        without acknowledgement on a channel of its own, and return when it closes. Raises BrokerError.
        """
        letters: list[tuple[bytes, float | None]] = []
        with translate_errors():
            async with asyncio.timeout(4 * OPERATION_SECONDS):
                channel = await self._open_channel(is_watched=False)
                try:
                    while (message := await channel.basic_get(self._topology.dead)).delivery_tag is not None:
                        letters.append((message.body, _died_at(message)))
                        if wanted(message.body):
                            await channel.basic_ack(message.delivery_tag)
                finally:
                    await channel.close()
        return letters

    async def _declare(self) -> None:
        topology, connection = self._topology, self._connection
        assert connection is not None
        channel: AbstractChannel
        async with connection.channel() as channel:
            dead = await channel.declare_exchange(topology.dead, ExchangeType.FANOUT, durable=True)
            dead_queue = await channel.declare_queue(topology.dead, durable=True, arguments={**topology.dead_arguments})
            await dead_queue.bind(dead)
            await channel.declare_queue(topology.tasks, durable=True, arguments={**topology.task_arguments})
            members = await channel.declare_exchange(topology.members, ExchangeType.FANOUT, durable=True)
            own = await channel.declare_queue(topology.member(self._member_id), exclusive=True, auto_delete=True)
            await own.bind(members)

    async def _consume(self, receiver: Receiver) -> None:
        self._consuming = consuming = await self._open_channel()
        await consuming.basic_qos(prefetch_count=PREFETCH)

        async def on_member_message(message: DeliveredMessage) -> None:
            receiver.on_member_message(message.body)

        async def on_task(message: DeliveredMessage) -> None:
            if message.delivery_tag is not None and not consuming.is_closed:
                properties = message.header.properties
                deliveries = (properties.headers or {}).get("x-delivery-count", 0)
                count = deliveries if isinstance(deliveries, int) else 0
                receiver.on_task(properties.message_id or "", message.body, message.delivery_tag, count)

        self._answering = asyncio.create_task(self._answer_forever(consuming))
        assert self._sending is not None
        await self._sending.basic_consume(self._topology.member(self._member_id), on_member_message, no_ack=True)
        await consuming.basic_consume(self._topology.tasks, on_task, arguments={**self._topology.consumer_arguments})

    async def _open_channel(self, *, is_watched: bool = True) -> RawChannel:
        """Open a channel; the connection ends with one that is watched."""
        assert self._connection is not None
        channel = self._connection.channel(on_return_raises=True)
        await channel.initialize()
        raw = await channel.get_underlay_channel()
        if is_watched:
            closing: asyncio.Future[object] = raw.closing  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            closing.add_done_callback(self._on_channel_closed)
            raw.on_consumer_cancel_callbacks.add(self._on_consumer_cancelled)
        return raw

    async def _publish(
        self, channel: RawChannel | None, exchange: str, routing_key: str, message: aio_pika.Message
    ) -> None:
        if channel is None or not self.is_open:
            raise BrokerError(self.reason)
        with translate_errors():
            try:
                await channel.basic_publish(
                    message.body,
                    exchange=exchange,
                    routing_key=routing_key,
                    properties=message.properties,
                    mandatory=True,
                    timeout=OPERATION_SECONDS,
                )
            except PublishError as error:
                raise NoSuchQueue(f"the broker has no queue for {routing_key or exchange!r}") from error
            except DeliveryError as error:
                raise PublishRefused("the broker's queue is full") from error

    async def _answer_forever(self, channel: RawChannel) -> None:
        """Send acknowledgements in turn: a closed channel ends it, for its tags are those of nothing any more."""
        with contextlib.suppress(*CONNECTION_EXCEPTIONS):
            while True:
                tag, is_ours = await self._answers.get()
                if is_ours:
                    await channel.basic_ack(tag, wait=False)
                else:
                    await channel.basic_reject(tag, requeue=False, wait=False)
                self._answers.task_done()

    def _on_connection_closed(self, _sender: object, error: BaseException | None) -> None:
        self.end(str(error or "closed"))

    def _on_channel_closed(self, closing: asyncio.Future[object]) -> None:
        error = None if closing.cancelled() else closing.exception()
        self.end(str(error or "a channel was closed"))

    def _on_consumer_cancelled(self, _frame: object) -> None:
        self.end("the broker cancelled a consumer; was a queue deleted?")

    def end(self, reason: str) -> None:
        """Give the connection up; `close` releases what it holds."""
        if not self._ended.is_set():
            self.reason = reason
            self._ended.set()


@contextlib.contextmanager
def translate_errors() -> Generator[None]:
    """Raise BrokerError for an error of the client, and for a cancellation that is none.

    The client cancels what waits on a channel that closes, or raises a bare Exception there; only a task that somebody
    cancelled counts as cancelled.
    """
    try:
        yield
    except (*CONNECTION_EXCEPTIONS, TimeoutError) as error:
        raise BrokerError(str(error) or repr(error)) from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise BrokerError("the channel was closed") from error
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise BrokerError("the channel was closed") from error


def _died_at(message: DeliveredMessage) -> float | None:
    deaths = (message.header.properties.headers or {}).get("x-death")
    if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict):
        time = deaths[0].get("time")
        return time.timestamp() if isinstance(time, datetime) else None
    return None
