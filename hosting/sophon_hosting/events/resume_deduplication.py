"""De-duplication of events: which events are published once per task, although a resumed turn emits them again."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sophon.events import Event
from sophon.stores.events.contract import LoggedEvent

EventKey: TypeAlias = tuple[str, ...]
"""Event name followed by the values of its identifying fields."""

UNIQUE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "task_queued": (),
    "task_started": (),
    "message": ("role",),
    "tool_call_started": ("run_id", "call_id"),
    "tool_call_completed": ("run_id", "call_id"),
    "approval_requested": ("approval_id",),
    "approval_resolved": ("approval_id",),
}
"""Identifying fields by event name: within a task, such an event is published once. Other events may repeat."""

FIRST_EVENTS = frozenset({"task_queued", "task_started"})
"""Events that start the tracking of a task."""
FINAL_EVENTS = frozenset({"task_completed", "task_failed", "task_cancelled"})
"""Events that end it."""


class EventDeduplicator:
    """De-duplicator of the events of a session's unfinished tasks.

    A turn that resumes after a restart replays its finished tool calls and emits their events again.
    """

    def __init__(self) -> None:
        self._keys: dict[str, set[EventKey]] = {}

    def register(self, event: Event) -> bool:
        """Record the event; return whether its task has not emitted it before."""
        fields = UNIQUE_FIELDS.get(event.wire_name)
        if fields is None or not event.task_id:
            return True
        keys = self._keys.get(event.task_id)
        if keys is None:
            if event.wire_name not in FIRST_EVENTS:  # the task already has an outcome and is no longer tracked
                return True
            keys = self._keys[event.task_id] = set()
        key = (event.wire_name, *(str(getattr(event, field)) for field in fields))
        if key in keys:
            return False
        keys.add(key)
        return True

    def load(self, logged: Iterable[LoggedEvent]) -> None:
        """Load the events that a previous process has stored."""
        for event in logged:
            fields = UNIQUE_FIELDS.get(event.name)
            if fields is not None and event.task_id:
                self._keys.setdefault(event.task_id, set()).add(_event_key(event.name, fields, event.data))

    def has_emitted(self, task_id: str, name: str) -> bool:
        """Return whether a task has emitted an event of that name."""
        return any(key[0] == name for key in self._keys.get(task_id, ()))

    def forget_task(self, task_id: str) -> None:
        """Forget the events of a task that has its outcome."""
        self._keys.pop(task_id, None)

    def __len__(self) -> int:
        return len(self._keys)


def _event_key(name: str, fields: tuple[str, ...], data: Mapping[str, Any]) -> EventKey:
    return (name, *(str(data.get(field, "")) for field in fields))
