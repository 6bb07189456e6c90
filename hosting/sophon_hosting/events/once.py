"""What is told once per task, however often a turn is taken up again: the rule, and what a task has told so far."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sophon.events import Event
from sophon.stores.event_contracts import LoggedEvent

Key: TypeAlias = tuple[str, ...]

ONCE: Mapping[str, tuple[str, ...]] = {
    "task_queued": (),
    "task_started": (),
    "message": ("role",),
    "tool_call_started": ("run_id", "call_id"),
    "tool_call_completed": ("run_id", "call_id"),
    "approval_requested": ("approval_id",),
    "approval_resolved": ("approval_id",),
}
"""By the name of the event, the fields that tell one from another within a task; other events may be told again."""

FIRST = frozenset({"task_queued", "task_started"})
LAST = frozenset({"task_completed", "task_failed", "task_cancelled"})


class Told:
    """The keys of what the unfinished tasks of a session have told, so that a turn that goes on after a restart, and
    settles its finished calls again, tells nobody twice.
    """

    def __init__(self) -> None:
        self._keys: dict[str, set[Key]] = {}

    def is_news(self, event: Event) -> bool:
        """Whether its task has not told it yet; it has from then on."""
        fields = ONCE.get(event.wire_name)
        if fields is None or not event.task_id:
            return True
        keys = self._keys.get(event.task_id)
        if keys is None:
            if event.wire_name not in FIRST:  # a task that has its outcome; nothing of it is kept in mind
                return True
            keys = self._keys[event.task_id] = set()
        key = (event.wire_name, *(str(getattr(event, field)) for field in fields))
        if key in keys:
            return False
        keys.add(key)
        return True

    def recall(self, logged: Iterable[LoggedEvent]) -> None:
        """Learn from the log what was told before this process."""
        for each in logged:
            fields = ONCE.get(each.name)
            if fields is not None and each.task_id:
                self._keys.setdefault(each.task_id, set()).add(_key(each.name, fields, each.data))

    def has_told(self, task_id: str, name: str) -> bool:
        """Whether a task has told an event of that name."""
        return any(key[0] == name for key in self._keys.get(task_id, ()))

    def forget(self, task_id: str) -> None:
        """The task has its outcome."""
        self._keys.pop(task_id, None)

    def __len__(self) -> int:
        return len(self._keys)


def _key(name: str, fields: tuple[str, ...], data: Mapping[str, Any]) -> Key:
    return (name, *(str(data.get(field, "")) for field in fields))
