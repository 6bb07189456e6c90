"""De-duplication of events: which events are published once per task, although a resumed turn emits them again."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from sophon.events import Event, Message, event_type
from sophon.stores.texts.large_text import text_id
from sophon_hosting.events.large_fields import referenced_text_id
from sophon_hosting.store.events.logged_event import LoggedEvent

EventKey: TypeAlias = tuple[str, ...]
"""Event name followed by the values of its identifying fields."""


class EventDeduplicator:
    """De-duplicator of the events of a session's unfinished tasks.

    A turn that resumes after a restart replays its finished tool calls and emits their events again. What identifies an
    event within its task is declared by its class (`Event.unique_by`). A message of the assistant has a version, too:
    it is published again if its content has changed since, because the model made the reply again.
    """

    def __init__(self) -> None:
        self.published: dict[str, dict[EventKey, str]] = {}
        """By unfinished task: the version last published, by key; "" of an event that has only one version."""

    def register(self, event: Event) -> bool:
        """Record the event; return whether its task has not emitted it before."""
        identity = _identify_event(event)
        if identity is None:
            return True
        published = self.published.get(event.task_id)
        if published is None:
            if not event.is_first:  # the task already has an outcome and is no longer tracked
                return True
            published = self.published[event.task_id] = {}
        key, version = identity
        if published.get(key) == version:
            return False
        published[key] = version
        return True

    def is_new(self, event: Event) -> bool:
        """Return whether `register` would."""
        identity = _identify_event(event)
        if identity is None:
            return True
        key, version = identity
        return self.published.get(event.task_id, {}).get(key) != version

    def load(self, logged: Iterable[LoggedEvent]) -> None:
        """Load the events that a previous process has stored, in their order."""
        for event in logged:
            identity = _identify(event.name, event.data) if event.task_id else None
            if identity is not None:
                key, version = identity
                self.published.setdefault(event.task_id, {})[key] = version

    def note(self, logged: LoggedEvent) -> None:
        """Load an event that another process has stored, if its task is one of those that are tracked here."""
        if logged.task_id in self.published:
            self.load([logged])

    def has_emitted(self, task_id: str, name: str, *fields: str) -> bool:
        """Return whether a task has emitted an event of that name whose first identifying fields are these."""
        wanted = (name, *fields)
        return any(key[: len(wanted)] == wanted for key in self.published.get(task_id, ()))


def _identify_event(event: Event) -> tuple[EventKey, str] | None:
    if event.unique_by is None or not event.task_id:
        return None
    if isinstance(event, Message):
        return _identify_message(event.role, event.message_id, event.content)
    return (event.wire_name, *(str(getattr(event, name)) for name in event.unique_by)), ""


def _identify(name: str, data: Mapping[str, Any]) -> tuple[EventKey, str] | None:
    """Return the key of an event and the version of what it says; None for an event that may repeat."""
    if name == Message.wire_name:
        # A stored event contains the beginning of a large text, and a reference with its id.
        stored_id = referenced_text_id(data, "content")
        return _identify_message(
            str(data.get("role", "")), str(data.get("message_id", "")), str(data.get("content", "")), stored_id
        )
    fields = event_type(name).unique_by
    return None if fields is None else ((name, *(str(data.get(field, "")) for field in fields)), "")


def _identify_message(role: str, message_id: str, content: str, stored_id: str = "") -> tuple[EventKey, str]:
    if role != "assistant":
        return (Message.wire_name, role), ""
    return (Message.wire_name, role, message_id), stored_id or text_id(content)
