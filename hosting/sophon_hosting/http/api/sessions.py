"""`/api/sessions`: list, read, change, fork, export and delete sessions; their messages and events."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal, cast

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import NotFound
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.sessions.contract import SessionRecord
from sophon.turn_options import parse_planning_mode
from sophon_hosting.events.json_encoding import take_items
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.features.sessions.history_results import (
    EventPage,
    RecordPage,
    RecordView,
    TextView,
    logged_event_to_json,
    record_to_json,
)
from sophon_hosting.features.sessions.results import (
    BranchList,
    NewSession,
    SessionExport,
    SessionPage,
    branch_point_to_json,
    session_to_json,
)
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    cacheable_json_response,
    get_authorized_host,
    json_response,
    parse_body,
    parse_query,
)
from sophon_hosting.http.long_poll import WaitSeconds, wait_for_change
from sophon_hosting.rendering.control_characters import remove_invisible
from sophon_hosting.rendering.session_export import format_transcript, session_record_to_json, session_summary_to_json
from sophon_hosting.rendering.session_markdown import session_to_markdown

PageLimit = Annotated[int, ValueRules(ge=1, le=1000)]
PageOffset = Annotated[int, ValueRules(ge=0, le=2**31)]
SeqNumber = Annotated[int, ValueRules(ge=0, le=2**53)]

MAX_PAGE_BYTES = 1_000_000
"""JSON size from which a page of messages or events ends, whatever its limit; at least one item is returned."""

MAX_SEQ_DIGITS = 15


FILE_EXTENSIONS = {"json": "json", "markdown": "md", "text": "txt"}


class SessionListQuery(RequestQuery):
    """Query of the session list: `q` is searched in titles and ids; `everything` (all users') is for operators.

    `cursor` is the `next_cursor` of the previous page. `kind`: those that are not archived, unless it is given.
    """

    q: str = ""
    limit: PageLimit = 100
    offset: PageOffset = 0
    cursor: str | None = None
    everything: bool = False
    kind: Literal["open", "archived", "pinned", "all"] = "open"


class PageQuery(RequestQuery):
    """Query of a page: what comes after a seq."""

    after: SeqNumber = 0
    limit: PageLimit = 200


class EventPageQuery(PageQuery):
    """Query of a page of events; with `wait` an empty page is answered later: once there is an event, or time is up."""

    wait: WaitSeconds = 0


class MessagePageQuery(PageQuery):
    """Query of a page of messages: the first after a seq, or with `before` the last before one; in ascending order.

    `cut`: large fields are cut, as in events.
    """

    before: SeqNumber | None = None
    cut: bool = False

    def check(self) -> None:
        """Allow one direction only."""
        if self.before is not None and self.after:
            raise ValueError("after and before cannot be combined")


def _normalize_title(value: object) -> object:
    """Return a title in one line without characters that are shown as nothing or that reorder the text."""
    return remove_invisible(value) if isinstance(value, str) else value


class SessionUpdateBody(RequestBody):
    """Body of a session update: only given fields change; `model: null` lets routing choose the model again, and
    `planning: null` the settings.
    """

    title: (
        Annotated[
            str,
            ValueRules(before=_normalize_title, strip_whitespace=True, min_length=1, max_length=200),
        ]
        | None
    ) = None
    model: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    planning: str | None = None


class NewSessionBody(RequestBody):
    """Body of a new session: only one off the record is begun without a message."""

    mode: Literal["otr"]


class ForkBody(RequestBody):
    """Body of a fork: the id of the copy (generated if missing), and its end: a seq, or the end of a task."""

    session_id: str | None = None
    upto: SeqNumber | None = None
    task_id: str | None = None

    def check(self) -> None:
        """Allow one end only."""
        if self.upto is not None and self.task_id is not None:
            raise ValueError("upto and task_id cannot be combined")


class ExportQuery(RequestQuery):
    """Query of an export: `json` has all stored data; `markdown` and `text` are for reading."""

    format: Literal["json", "markdown", "text"] = "json"


routes = web.RouteTableDef()


@routes.post("/api/sessions")
async def open_session(request: web.Request) -> web.Response:
    """Begin a conversation off the record, with 201."""
    await parse_body(request, NewSessionBody)
    session = await get_authorized_host(request).open_off_the_record()
    opened: NewSession = {**session_to_json(session), "mode": "otr"}
    return json_response({"ok": True, **opened}, 201)


@routes.get("/api/sessions")
async def list_sessions(request: web.Request) -> web.Response:
    """List a page of sessions, newest first; `total` counts all matches, `next_cursor` is null on the last page."""
    query = parse_query(request, SessionListQuery)
    page = await get_authorized_host(request).list_sessions(
        all_users=query.everything,
        search=query.q,
        limit=query.limit,
        offset=query.offset,
        cursor=query.cursor,
        kind=None if query.kind == "all" else query.kind,
    )
    items = [session_to_json(each) for each in page.items]
    found: SessionPage = {"items": items, "total": page.total, "next_cursor": page.next_cursor}
    return json_response(found)


@routes.get("/api/sessions/{session_id}")
async def get_session(request: web.Request) -> web.Response:
    """Return one session."""
    return json_response(session_to_json(await get_authorized_host(request).get_session(_session_id(request))))


@routes.patch("/api/sessions/{session_id}")
async def update_session(request: web.Request) -> web.Response:
    """Rename a session, or set its model or planning mode; an unknown model or mode changes nothing."""
    body, authorized_host = await parse_body(request, SessionUpdateBody), get_authorized_host(request)
    session = await authorized_host.get_session(_session_id(request))
    planning = parse_planning_mode(body.planning)
    if "model" in body.fields_set:
        session = await authorized_host.set_session_model(session.id, body.model)
    if "planning" in body.fields_set:
        session = await authorized_host.set_session_planning(session.id, planning)
    if body.title is not None:
        session = await authorized_host.rename_session(session.id, body.title)
    if body.pinned is not None or body.archived is not None:
        session = await authorized_host.mark_session(session.id, pinned=body.pinned, archived=body.archived)
    return json_response(session_to_json(session))


@routes.delete("/api/sessions/{session_id}")
async def delete_session(request: web.Request) -> web.Response:
    """Cancel the session's turns and delete it. Raises Busy while a turn does not stop."""
    await get_authorized_host(request).delete_session(_session_id(request))
    return json_response({"ok": True})


@routes.get("/api/sessions/{session_id}/messages")
async def list_messages(request: web.Request) -> web.Response:
    """Return a page of the session's records: messages with their tool calls, and outcomes of failed turns."""
    query, session_id = parse_query(request, MessagePageQuery), _session_id(request)
    authorized_host = get_authorized_host(request)
    page = await authorized_host.list_records(
        session_id, query.after, before_seq=query.before, limit=query.limit, max_bytes=MAX_PAGE_BYTES
    )
    items = [record_to_json(session_id, each) for each in page]
    if query.cut:
        items = [cast(RecordView, await authorized_host.cut_large_fields(session_id, each)) for each in items]
    more = bool(page) and await _has_more(request, page, query)
    found: RecordPage = {"items": items, "more": more}
    return json_response(found)


@routes.get("/api/sessions/{session_id}/messages/{message_id}")
async def get_message(request: web.Request) -> web.Response:
    """Return one record, by its message id or seq, as in the list."""
    session_id = _session_id(request)
    seq = _parse_message_id(request.match_info["message_id"], session_id)
    record = await get_authorized_host(request).get_record(session_id, seq)
    return cacheable_json_response(request, record_to_json(session_id, record))


@routes.get("/api/sessions/{session_id}/texts/{text_id}")
async def get_text(request: web.Request) -> web.Response:
    """Return a large text, to which an event or a message refers."""
    text_id = request.match_info["text_id"]
    text = await get_authorized_host(request).get_text(_session_id(request), text_id)
    found: TextView = {"text": text}
    return cacheable_json_response(request, found, text_id)


@routes.get("/api/sessions/{session_id}/events")
async def list_session_events(request: web.Request) -> web.Response:
    """Return the durable events after a seq, in the format of Socket.IO."""
    query = parse_query(request, EventPageQuery)
    rows = await _list_events(request, query)
    if not rows and query.wait > 0:
        rows = await _wait_for_events(request, query)
    events = [logged_event_to_json(_session_id(request), row) for row in rows[: query.limit]]
    page = take_items(events, MAX_PAGE_BYTES)
    found: EventPage = {"items": page, "more": len(rows) > len(page)}
    return json_response(found)


async def _list_events(request: web.Request, query: EventPageQuery) -> list[LoggedEvent]:
    return await get_authorized_host(request).list_events(_session_id(request), query.after, query.limit + 1)


async def _wait_for_events(request: web.Request, query: EventPageQuery) -> list[LoggedEvent]:
    authorized_host, changed = get_authorized_host(request), asyncio.Event()
    deadline = authorized_host.monotonic() + query.wait

    def notice(event: WireEvent) -> None:
        if event.seq is not None:  # others, as the chunks of a reply, are not stored
            changed.set()

    await authorized_host.subscribe(_session_id(request), notice)
    try:
        # What was stored before the subscription; and at the end what other processes have stored.
        while not (rows := await _list_events(request, query)):
            changed.clear()
            if not await wait_for_change(request, changed, deadline):
                return await _list_events(request, query)
        return rows
    finally:
        authorized_host.unsubscribe(_session_id(request), notice)


@routes.get("/api/sessions/{session_id}/export")
async def export_session(request: web.Request) -> web.Response:
    """Return the session as a file to download."""
    query, authorized_host = parse_query(request, ExportQuery), get_authorized_host(request)
    authorized_host.rights.require("Export")
    session = await authorized_host.get_session(_session_id(request))
    records = await authorized_host.list_records(session.id)
    if query.format == "markdown":
        response = web.Response(
            text=session_to_markdown(session, records), content_type="text/markdown", charset="utf-8"
        )
    elif query.format == "text":
        response = web.Response(
            text="\n".join(format_transcript(records)) + "\n", content_type="text/plain", charset="utf-8"
        )
    else:
        export: SessionExport = {
            **session_summary_to_json(session),
            "records": [session_record_to_json(record) for record in records],
        }
        response = json_response(export)
    response.headers["Content-Disposition"] = f'attachment; filename="session.{FILE_EXTENSIONS[query.format]}"'
    return response


@routes.post("/api/sessions/{session_id}/fork")
async def fork_session(request: web.Request) -> web.Response:
    """Copy the session to a new one and return that."""
    body = await parse_body(request, ForkBody)
    copy = await get_authorized_host(request).fork_session(
        _session_id(request), body.session_id, up_to_seq=body.upto, task_id=body.task_id
    )
    return json_response(session_to_json(copy), 201)


@routes.get("/api/sessions/{session_id}/branches")
async def list_branches(request: web.Request) -> web.Response:
    """Return where the branches of the conversation part, as this session goes."""
    points = await get_authorized_host(request).list_branches(_session_id(request))
    found: BranchList = {"items": [branch_point_to_json(each) for each in points]}
    return json_response(found)


async def _has_more(request: web.Request, page: Sequence[SessionRecord], query: MessagePageQuery) -> bool:
    """Return whether there are records beyond the page, in its direction."""
    session_id, authorized_host = _session_id(request), get_authorized_host(request)
    if query.before is None:
        return bool(await authorized_host.list_records(session_id, page[-1].seq, limit=1))
    return page[0].seq > query.after + 1


def _parse_message_id(message_id: str, session_id: str) -> int:
    """Return the seq of a record's id, `{session_id}:{seq}`, or of a seq alone. Raises NotFound."""
    seq = message_id.removeprefix(f"{session_id}:")
    if not (seq.isascii() and seq.isdigit() and 0 < len(seq) <= MAX_SEQ_DIGITS):
        raise NotFound("message", message_id)
    return int(seq)


def _session_id(request: web.Request) -> str:
    return request.match_info["session_id"]
