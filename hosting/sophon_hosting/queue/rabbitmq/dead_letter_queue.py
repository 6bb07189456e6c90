"""Dead letters on the broker: those that the scheduling process wrote, and those that the broker moved itself."""

import asyncio
from datetime import UTC, datetime

from sophon_hosting.queue.contract import DeadLetter
from sophon_hosting.queue.rabbitmq.connection import BrokerConnection
from sophon_hosting.queue.rabbitmq.records import StoredRecord, TaskRecord, decode_record
from sophon_hosting.queue.rabbitmq.wire_messages import decode_message, encode_message

_LETTER = "letter"


class DeadLetterQueue:
    """Queue of dead letters; one reader at a time, because reading takes them out until the reader has finished."""

    def __init__(self, connection: BrokerConnection) -> None:
        self._connection = connection
        self._lock = asyncio.Lock()

    async def add(self, letter: DeadLetter) -> None:
        """Add a dead letter. Raises BrokerError."""
        await self._connection.publish_dead(encode_message({_LETTER: letter}))

    async def read(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first; the newest of each task counts. Raises BrokerError."""
        async with self._lock:
            found = await self._connection.read_dead()
        letters: dict[str, DeadLetter] = {}
        for body, died_at in found:
            letter = parse_dead_letter(body, died_at)
            if letter is not None:
                letters.pop(letter.entry.task_id, None)
                letters[letter.entry.task_id] = letter
        return [*letters.values()]

    async def remove(self, task_id: str) -> None:
        """Remove the dead letters of a task. Raises BrokerError."""

        def is_wanted(body: bytes) -> bool:
            letter = parse_dead_letter(body, None)
            return letter is not None and letter.entry.task_id == task_id

        async with self._lock:
            await self._connection.read_dead(is_wanted)


def parse_dead_letter(body: bytes, died_at: float | None) -> DeadLetter | None:
    """Return the dead letter of a message, None if it holds none.

    `died_at` (seconds since 1970) is the time at which the broker moved a record that it had delivered too often.
    """
    try:
        letter = decode_message(body).get(_LETTER)
        if isinstance(letter, DeadLetter):
            return letter
        stored = decode_record(body)
    except ValueError:  # rejected, because it cannot be read
        return None
    if not isinstance(stored, StoredRecord) or not isinstance(stored.record, TaskRecord):
        return None
    return DeadLetter(stored.record.entry, stored.record.deliveries, datetime.fromtimestamp(died_at or 0.0, UTC))
