"""Record log of the process that schedules: its entries on the broker, rewritten and acknowledged as they change."""

import asyncio
import math

from sophon_hosting.queue.rabbitmq.connection import OPERATION_SECONDS, BrokerConnection, BrokerError
from sophon_hosting.queue.rabbitmq.records import HoldRecord, Key, StoredRecord, TaskRecord, encode_record
from sophon_hosting.queue.rabbitmq.topology import MANY_DELIVERIES


class _Message:
    """Message of one record, and the one before it of the same key until that can be acknowledged.

    `tag` is set once it has arrived; an obsolete one is acknowledged as soon as it has.
    """

    __slots__ = ("arrived", "before", "id", "is_obsolete", "stored", "tag", "written_at")

    def __init__(self, message_id: str, stored: StoredRecord, before: "_Message | None") -> None:
        self.id, self.stored, self.before = message_id, stored, before
        self.written_at = _now()
        self.tag: int | None = None
        self.is_obsolete = False
        self.arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class RecordLog:
    """Records by key. The newest message of each waits unacknowledged here, so that the broker keeps it.

    A record that is written returns to this process, the only active consumer. Its arrival proves that this process
    was still the one that schedules when the broker took the record; then the message before it is acknowledged.
    """

    def __init__(self, connection: BrokerConnection, member_id: str) -> None:
        self._connection, self._member_id = connection, member_id
        self._written = 0
        self._newest: dict[Key, _Message] = {}
        self._by_id: dict[str, _Message] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def find(self, key: Key) -> TaskRecord | HoldRecord | None:
        """Return the newest record of a key, or None."""
        message = self._newest.get(key)
        return message.stored.record if message else None

    async def write(self, record: TaskRecord | HoldRecord) -> None:
        """Write the record in the place of the one before, and wait until it has arrived here.

        Raises PublishRefused or another BrokerError; then the record before counts, if there was one.
        """
        before = self._newest.get(record.key)
        stored = StoredRecord(record, before.stored.revision + 1 if before else 1)
        self._written += 1
        message = _Message(f"{self._member_id}.{id(self):x}.{self._written}", stored, before)
        self._newest[record.key] = self._by_id[message.id] = message
        try:
            await self._connection.publish_task(message.id, encode_record(stored))
            await asyncio.wait_for(asyncio.shield(message.arrived), OPERATION_SECONDS)
        except (BrokerError, TimeoutError) as error:
            self._undo(message)
            raise error if isinstance(error, BrokerError) else BrokerError("a record did not arrive") from error

    def discard(self, key: Key) -> None:
        """Acknowledge the record of a key, if there is one."""
        message = self._newest.pop(key, None)
        if message is not None:
            self._make_obsolete(message)

    def on_arrival(self, message_id: str, stored: StoredRecord, tag: int, deliveries: int) -> bool:
        """Take a message. Return whether it holds a record that was not known here and is the newest of its key.

        `deliveries` is the broker's count; a record that it has given back often is listed as old.
        """
        message, is_new = self._by_id.get(message_id), False
        if message is None:
            newest = self._newest.get(stored.record.key)
            message = self._by_id[message_id] = _Message(message_id, stored, newest)
            if deliveries >= MANY_DELIVERIES:
                message.written_at = -math.inf
            if newest is not None and newest.stored.revision >= stored.revision:
                message.before, message.is_obsolete = None, True
            else:
                self._newest[stored.record.key], is_new = message, True
        message.tag = tag
        if not message.arrived.done():
            message.arrived.set_result(None)
        before, message.before = message.before, None
        self._make_obsolete(before)
        self._settle(message)
        return is_new

    def list_records(self, *, older_than_seconds: float = -math.inf) -> list[TaskRecord | HoldRecord]:
        """Return the newest record of each key, or those that were written or have arrived longer ago."""
        limit = _now() - older_than_seconds
        return [each.stored.record for each in self._newest.values() if each.written_at < limit]

    def _undo(self, message: _Message) -> None:
        """Let the message before count again; if this one arrives after all, it is acknowledged."""
        before, message.before = message.before, None
        message.is_obsolete = True
        key = message.stored.record.key
        if self._newest.get(key) is message:
            if before is None:
                del self._newest[key]
            else:
                self._newest[key] = before
        elif before is not None:  # a newer one was written meanwhile, or the key was discarded
            following = self._newest.get(key)
            while following is not None and following.before is not message:
                following = following.before
            if following is not None:
                following.before = before

    def _make_obsolete(self, message: _Message | None) -> None:
        """Acknowledge the message and those before it, now or when they arrive."""
        while message is not None:
            before, message.before = message.before, None
            message.is_obsolete = True
            self._settle(message)
            message = before

    def _settle(self, message: _Message) -> None:
        if message.is_obsolete and message.tag is not None:
            self._connection.acknowledge(message.tag)
            message.tag = None
            self._by_id.pop(message.id, None)


def _now() -> float:
    return asyncio.get_running_loop().time()
