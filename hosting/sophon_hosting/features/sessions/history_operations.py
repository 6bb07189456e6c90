"""Operations on the history of a session: its messages, large texts and events; joining and leaving it."""

import asyncio
from typing import Annotated, cast

from sophon._python.value_rules import ValueRules
from sophon.errors import NotFound
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.caller_connection import get_subscriptions
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.off_the_record_errors import OffTheRecordLost
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.sessions.history_results import (
    EventPage,
    JoinedSession,
    LeftSession,
    RecordPage,
    RecordView,
    TextView,
    event_to_json,
    logged_event_to_json,
    record_to_json,
)
from sophon_hosting.features.sessions.operations import NamedSession
from sophon_hosting.features.sessions.visible_history import cut_large_fields, find_text, read_events, read_records
from sophon_hosting.json_text import take_items
from sophon_hosting.operations.request import Doc, Limit, WaitSeconds
from sophon_hosting.operations.shared_subjects import SESSION
from sophon_hosting.operations.table import Table
from sophon_hosting.store.events.logged_event import LoggedEvent

table = Table("sessions")

SeqNumber = Annotated[int, ValueRules(ge=0, le=2**53)]

MAX_PAGE_BYTES = 1_000_000
"""JSON size from which a page of messages or events ends, whatever its limit; at least one item is returned."""

MAX_SEQ_DIGITS = 15


class ListMessages(NamedSession):
    """A page of messages in ascending order: the first after a seq, or the last before one."""

    after: SeqNumber = 0
    before: SeqNumber | None = None
    limit: Limit = 200
    cut: Annotated[bool, Doc("Large fields are cut, as in events.")] = False

    def check(self) -> None:
        """Allow one direction only."""
        if self.before is not None and self.after:
            raise ValueError("after and before cannot be combined")


class NamedMessage(NamedSession):
    """A message by its id, or by its seq."""

    message_id: str


class NamedText(NamedSession):
    """A large text by its id."""

    text_id: str


class ListEvents(NamedSession):
    """A page of events after a seq."""

    after: SeqNumber = 0
    limit: Limit = 200
    wait: Annotated[
        WaitSeconds, Doc("An empty page is answered later: once there is an event, or after so many seconds.")
    ] = 0


class JoinSession(NamedSession):
    """A session to subscribe to."""

    last_seq: Annotated[int | None, Doc("The seq of the last event that the client knows.")] = None


@table.operation("GET /api/sessions/{session_id}/messages", needs="Read", on=SESSION, as_tool=True)
async def list_messages(caller: Caller, request: ListMessages, session: SessionSummary) -> RecordPage:
    """Return a page of the records of a session: messages with their tool calls, and outcomes of failed turns.

    `more` says whether there are more: a page also ends after 1 MB, with at least one record.
    """
    session_id = request.session_id
    page = await read_records(
        caller, session, request.after, before_seq=request.before, limit=request.limit, max_bytes=MAX_PAGE_BYTES
    )
    items = [record_to_json(session_id, each) for each in page]
    if request.cut:
        items = [cast(RecordView, await cut_large_fields(caller, session, session_id, each)) for each in items]
    if not page:
        has_more = False
    elif request.before is None:
        has_more = bool(await read_records(caller, session, page[-1].seq, limit=1))
    else:
        has_more = page[0].seq > request.after + 1
    return {"items": items, "more": has_more}


@table.operation(
    "GET /api/sessions/{session_id}/messages/{message_id}",
    needs="Read",
    on=SESSION,
    errors=(NotFound,),
    is_cacheable=True,
)
async def get_message(caller: Caller, request: NamedMessage, session: SessionSummary) -> RecordView:
    """Return one record, by its message id or seq, as in the list."""
    seq = _parse_message_id(request.message_id, request.session_id)
    records = await read_records(caller, session, seq - 1, limit=1)
    if not records or records[0].seq != seq:
        raise NotFound("message", str(seq))
    return record_to_json(request.session_id, records[0])


@table.operation(
    "GET /api/sessions/{session_id}/texts/{text_id}", needs="Read", on=SESSION, errors=(NotFound,), is_cacheable=True
)
async def get_large_text(caller: Caller, request: NamedText, session: SessionSummary) -> TextView:
    """Return a large text, to which an event or a message refers."""
    text = await find_text(caller, session, request.text_id)
    if text is None:
        raise NotFound("text", request.text_id)
    caller.reply.version = request.text_id
    return {"text": text}


@table.operation("GET /api/sessions/{session_id}/events", needs="Read", on=SESSION)
async def list_session_events(caller: Caller, request: ListEvents, session: SessionSummary) -> EventPage:
    """Return the durable events after a seq, in the format of Socket.IO.

    With `wait`, an empty page is answered once there is an event, or the time is over.
    """
    rows = await read_events(caller, session, request.after, request.limit + 1)
    if not rows and request.wait > 0:
        rows = await _wait_for_events(caller, request, session)
    events = [logged_event_to_json(request.session_id, row) for row in rows[: request.limit]]
    page = take_items(events, MAX_PAGE_BYTES)
    return {"items": page, "more": len(rows) > len(page)}


@table.operation(
    event="join_session",
    needs="Read",
    errors=(Forbidden, NotFound, OffTheRecordLost),
    example={"session_id": "s", "last_seq": 41},
    is_large=True,
)
async def join_session(caller: Caller, request: JoinSession) -> JoinedSession:
    """Subscribe to a session and return the events after `last_seq`; who may write creates one that does not exist."""
    subscriptions = get_subscriptions(caller.connection)
    caller = await SESSION.on_its_host(caller, request.session_id)
    await caller.check_not_lost(request.session_id)
    joined = await subscriptions.join(
        request.session_id, request.last_seq or 0, is_off_the_record=caller.is_off_the_record
    )
    events = [event_to_json(event) for event in joined.events]
    found: JoinedSession = {"session_id": request.session_id, "seq": joined.seq, "events": events}
    return {**found, "partial": True} if joined.is_partial else found


@table.operation(event="leave_session", needs=(), example={"session_id": "s"})
async def leave_session(caller: Caller, request: NamedSession) -> LeftSession:
    """Unsubscribe from a session."""
    get_subscriptions(caller.connection).leave(request.session_id)
    return {"session_id": request.session_id}


async def _wait_for_events(caller: Caller, request: ListEvents, session: SessionSummary) -> list[LoggedEvent]:
    changed, deadline, bus = asyncio.Event(), caller.monotonic() + request.wait, caller.host.event_bus

    def notice(event: WireEvent) -> None:
        if event.seq is not None:  # others, as the chunks of a reply, are not stored
            changed.set()

    async def read() -> list[LoggedEvent]:
        found = await caller.sessions.find(request.session_id)  # its id may be somebody else's by now
        return await read_events(caller, found, request.after, request.limit + 1)

    await bus.subscribe(session.id, notice, session.owner)
    try:
        # What was stored before the subscription; and at the end what other processes have stored.
        while not (rows := await read()):
            changed.clear()
            if not await caller.wait_for_change(changed, deadline):
                return await read()
        return rows
    finally:
        bus.unsubscribe(session.id, notice)


def _parse_message_id(message_id: str, session_id: str) -> int:
    """Return the seq of a record's id, `{session_id}:{seq}`, or of a seq alone. Raises NotFound."""
    seq = message_id.removeprefix(f"{session_id}:")
    if not (seq.isascii() and seq.isdigit() and 0 < len(seq) <= MAX_SEQ_DIGITS):
        raise NotFound("message", message_id)
    return int(seq)
