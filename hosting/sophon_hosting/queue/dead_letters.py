"""Dead letters of the in-memory queue: entries given up after their last delivery, kept for inspection and retry."""

from dataclasses import replace
from datetime import datetime

from sophon_hosting.queue.contract import DeadLetter, QueueEntry


class DeadLetters:
    """Dead letters by task id, oldest first, until they are removed or retried."""

    def __init__(self) -> None:
        self._letters: dict[str, DeadLetter] = {}

    def add(self, entry: QueueEntry, delivery_count: int, died_at: datetime) -> None:
        """Add the dead letter of an entry."""
        self._letters[entry.task_id] = DeadLetter(entry, delivery_count, died_at)

    def remove(self, task_id: str) -> DeadLetter | None:
        """Remove and return the dead letter of a task, if there is one."""
        return self._letters.pop(task_id, None)

    def merge(self, entry: QueueEntry) -> None:
        """Merge a new entry of a task that has a dead letter: a resume makes the dead letter a resume."""
        letter = self._letters[entry.task_id]
        if entry.kind == "resume":
            self._letters[entry.task_id] = replace(letter, entry=replace(letter.entry, kind="resume"))

    def list(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first."""
        return [*self._letters.values()]

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._letters

    def __len__(self) -> int:
        return len(self._letters)
