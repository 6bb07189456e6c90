"""Calls of the coordinator's operations, by its own process or, through the broker, by another one."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from sophon_hosting.queue.contract import Delivery
from sophon_hosting.queue.errors import QueueFull
from sophon_hosting.queue.rabbitmq.connection import BrokerConnection, BrokerError
from sophon_hosting.queue.rabbitmq.coordinator import Coordinator
from sophon_hosting.queue.rabbitmq.wire_messages import encode_error, encode_message

_PLAIN = frozenset(
    {
        "ack",
        "hold_lane",
        "release_lane",
        "remove",
        "find_missing",
        "position",
        "estimate_position",
        "list_dead_letters",
        "retry_dead_letter",
        "statistics",
    }
)
"""Operations without keyword arguments, and the same for all processes."""


async def perform(coordinator: Coordinator, member_id: str, operation: str, arguments: Sequence[Any]) -> Any:
    """Perform an operation for a process. Raises QueueFull, BrokerError, and ValueError for an unknown operation.

    A process that is cut off from the broker fails, even if it could answer: it may be the one that schedules no more.
    """
    if operation == "take":
        return await coordinator.take(member_id)
    if operation == "put":
        return await coordinator.put(arguments[0], force=arguments[1], reserved=arguments[2])
    if operation == "renew":
        result: Any = await coordinator.renew(arguments[0], member_id)
    elif operation == "nack":
        result = await coordinator.nack(arguments[0], is_counted=arguments[1], delay_seconds=arguments[2])
    elif operation in _PLAIN:
        result = await getattr(coordinator, operation)(*arguments)
    else:
        raise ValueError(f"unknown operation {operation!r}")
    await coordinator.confirm()
    return result


class CallServer:
    """Performs the calls of other processes, in the order in which they arrive, and replies to each."""

    def __init__(self, coordinator: Coordinator, connection: BrokerConnection) -> None:
        self._coordinator, self._connection = coordinator, connection
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}

    def on_call(self, member_id: str, call_id: str, operation: str, arguments: Sequence[Any]) -> None:
        """Begin a call."""
        key = (member_id, call_id)
        self._running[key] = asyncio.create_task(self._answer(key, operation, arguments))

    def on_cancel(self, member_id: str, call_id: str) -> None:
        """Cancel a call that has no result yet; nobody waits for it any more."""
        task = self._running.pop((member_id, call_id), None)
        if task is not None:
            task.cancel()

    def stop(self) -> None:
        """Cancel all calls."""
        for each in self._running.values():
            each.cancel()
        self._running.clear()

    async def _answer(self, key: tuple[str, str], operation: str, arguments: Sequence[Any]) -> None:
        member_id, call_id = key
        value: Any = None
        reply: dict[str, Any] = {"type": "reply", "id": call_id}
        try:
            value = await perform(self._coordinator, member_id, operation, arguments)
            reply["value"] = value
        except (QueueFull, BrokerError, ValueError) as error:
            reply["error"] = encode_error(error)
        finally:
            # From here on a result is sent: a process that does not wait for it gives a delivery back.
            self._running.pop(key, None)
        try:
            await self._connection.send(member_id, encode_message(reply))
        except BrokerError:
            if isinstance(value, Delivery) and operation == "take":
                await self._coordinator.nack(value, is_counted=False)


class PendingCalls:
    """Calls of this process that wait for a reply."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}

    def begin(self) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        """Return the id of a new call, and the future of its reply."""
        call_id = str(next(self._numbers))
        self._waiting[call_id] = asyncio.get_running_loop().create_future()
        return call_id, self._waiting[call_id]

    def end(self, call_id: str) -> None:
        """Wait for it no more."""
        self._waiting.pop(call_id, None)

    def on_reply(self, fields: dict[str, Any]) -> bool:
        """Take a reply. Return False if nobody waits for it."""
        future = self._waiting.pop(str(fields["id"]), None)
        if future is None or future.done():
            return False
        future.set_result(fields)
        return True
