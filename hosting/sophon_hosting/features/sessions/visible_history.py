"""Visible history of a session, as a caller sees it: records, events, large texts; redacted without FullHistory."""

from collections.abc import Mapping, Sequence
from typing import Any

from sophon.stores.sessions.contract import SessionRecord, SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.history_view import find_own_text
from sophon_hosting.client_api.scoped_session_ids import to_client_logged_event
from sophon_hosting.events.large_fields import cut_payload
from sophon_hosting.store.events.logged_event import LoggedEvent


async def read_records(
    caller: Caller,
    session: SessionSummary,
    after_seq: int = 0,
    *,
    before_seq: int | None = None,
    limit: int | None = None,
    max_bytes: int | None = None,
) -> list[SessionRecord]:
    """Return records of a session as `SessionStore.list_records` does."""
    records = await caller.store.sessions.list_records(
        session.id, after_seq, before=before_seq, limit=limit, max_bytes=max_bytes
    )
    if (view := caller.view) is None:
        return records
    is_own = session.owner == caller.user.id
    return [view.record(record, is_own=is_own) for record in records]


async def read_events(caller: Caller, session: SessionSummary, after_seq: int, limit: int) -> list[LoggedEvent]:
    """Return the stored events of a session after a seq; old ones are trimmed."""
    rows = await caller.store.events.list_after(session.id, after_seq, limit)
    return to_visible_events(caller, session, rows)


async def find_text(caller: Caller, session: SessionSummary, text_id: str) -> str | None:
    """Return a large text of a session, to which an event or a message refers.

    Without FullHistory, only the text of a message in one of the user's own sessions.
    """
    if caller.view is None:
        return await caller.store.texts.get(session.id, text_id)
    if session.owner == caller.user.id:
        return find_own_text(await caller.store.sessions.list_records(session.id), text_id)
    return None


async def cut_large_fields(
    caller: Caller, session: SessionSummary, session_id: str, payload: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return a payload of a session, which the client knows as `session_id`, with its large fields cut; the texts that
    they refer to are stored.
    """
    cut = cut_payload(payload, session_id)
    if cut.texts:
        await caller.store.texts.add(session.id, cut.texts)
    return cut.data


def to_visible_events(caller: Caller, session: SessionSummary, rows: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Return stored events of a session as the caller sees them."""
    view, is_own = caller.view, session.owner == caller.user.id
    shown = rows if view is None else [view.logged_event(row, is_own=is_own) for row in rows]
    return [to_client_logged_event(row, session.id, caller.user.id) for row in shown]
