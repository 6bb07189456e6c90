"""Session ids of users who chose the same id: the second one's session is stored under a scoped id.

A client names its sessions freely, and a named session that does not exist is created. If an id in use by somebody else
were refused, everybody could find out which sessions others have. So the same id, given by two users, names two
sessions: the later one is stored as `{id}␟{owner}`, and its owner sees it as `{id}` everywhere. Operators see the
stored id. What was rejected: docs/decisions/0012-session-ids-per-owner.md.

The ids of the sessions of chats (`telegram-5`) and of the host's own (`webhook-issues`) are predictable. They are the
host's alone: a user who chooses one gets a scoped session at once, whether there is such a session or not.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from sophon_hosting.events.large_fields import rename_session_in_references
from sophon_hosting.events.missed_events import MissedEvents
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.events.logged_event import LoggedEvent

SCOPE_SEPARATOR = "\u241f"
"""Separates id and owner in a stored id (the symbol for the unit separator); clients may not choose ids with it."""


def to_scoped_session_id(session_id: str, owner: str) -> str:
    """Return the id under which the owner's session is stored if somebody else has one of that name."""
    return f"{session_id}{SCOPE_SEPARATOR}{owner}"


def is_channel_session_id(session_id: str, channels: Collection[str]) -> bool:
    """Return whether the id could be that of a session of one of the channels, or of the host itself."""
    name, dash, _ = session_id.partition("-")
    return bool(dash) and name in channels


def to_client_session_id(stored_id: str, user_id: str) -> str:
    """Return the id of a session as this user knows it: without the scope, if the scope is the user's own."""
    return stored_id.removesuffix(f"{SCOPE_SEPARATOR}{user_id}")


def to_client_event(event: WireEvent, user_id: str) -> WireEvent:
    """Return the event with the session id that the user knows; the same object if nothing changes."""
    session_id = to_client_session_id(event.session_id, user_id)
    if session_id == event.session_id:
        return event
    data = _rename_session(event.data, event.session_id, session_id)
    return WireEvent(event.name, data, session_id, event.task_id, event.seq)


def to_client_events(missed: MissedEvents, user_id: str) -> MissedEvents:
    """Return the replay with the session id that the user knows."""
    return replace(missed, events=[to_client_event(event, user_id) for event in missed.events])


def to_client_logged_event(logged: LoggedEvent, stored_id: str, user_id: str) -> LoggedEvent:
    """Return the stored event with the session id that the user knows."""
    session_id = to_client_session_id(stored_id, user_id)
    if session_id == stored_id:
        return logged
    return replace(logged, data=_rename_session(logged.data, stored_id, session_id))


def _rename_session(data: Mapping[str, Any], stored_id: str, session_id: str) -> dict[str, Any]:
    """Replace the session id in an event: `session_id`, the beginning of `message_id`, the URLs of large texts."""
    renamed = {**data, "session_id": session_id, **rename_session_in_references(data, session_id)}
    message_id = data.get("message_id")
    if isinstance(message_id, str) and message_id.startswith(f"{stored_id}:"):
        renamed["message_id"] = session_id + message_id[len(stored_id) :]
    return renamed
