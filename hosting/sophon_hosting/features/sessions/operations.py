"""Operations on sessions: begin, list, read, change, export, delete; and the search in their messages."""

from dataclasses import replace
from typing import Annotated, Literal

from sophon._python.value_rules import ValueRules
from sophon.errors import Busy, InputError, NotFound
from sophon.security.authorization.permission_levels import FULL_HISTORY
from sophon.stores.sessions.contract import SessionKind, SessionSummary
from sophon.stores.sessions.contract import SessionPage as StoredPage
from sophon.turn.history_redaction import redact_text_for_reader
from sophon.turn.option_checks import parse_planning_mode
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.operation_reply import File
from sophon_hosting.features.sessions.results import (
    MessageHitPage,
    NewSession,
    SessionExport,
    SessionPage,
    SessionSlice,
    SessionView,
    message_hit_to_json,
    session_to_json,
)
from sophon_hosting.features.sessions.session_export import (
    format_transcript,
    session_record_to_json,
    session_summary_to_json,
)
from sophon_hosting.features.sessions.session_markdown import session_to_markdown
from sophon_hosting.features.sessions.visible_history import read_records
from sophon_hosting.json_text import encode_json, take_items
from sophon_hosting.off_the_record.errors import OffTheRecordFull
from sophon_hosting.operations.permission_check import check_permission
from sophon_hosting.operations.request import Doc, Everything, Limit, Needs, Request
from sophon_hosting.operations.shared_results import MAX_LIST_BYTES, Done
from sophon_hosting.operations.shared_subjects import SESSION
from sophon_hosting.operations.table import Table
from sophon_hosting.rendering.control_characters import remove_invisible

table = Table("sessions")


def _normalize_title(value: object) -> object:
    """Return a title in one line without characters that are shown as nothing or that reorder the text."""
    return remove_invisible(value) if isinstance(value, str) else value


Title = Annotated[str, ValueRules(before=_normalize_title, strip_whitespace=True, min_length=1, max_length=200)]


class NewConversation(Request):
    """A new conversation: only one off the record is begun without a message."""

    mode: Literal["otr"]


class ListSessions(Request):
    """A page of sessions; `offset` skips some, `cursor` goes on where a page ended."""

    q: Annotated[str, Doc("Part of a title or an id.")] = ""
    limit: Limit = 100
    offset: Annotated[int, ValueRules(ge=0, le=2**31)] = 0
    cursor: Annotated[str | None, Doc("The `next_cursor` of the previous page.")] = None
    everything: Everything = False
    kind: Annotated[Literal["open", "archived", "pinned", "all"], Doc("By default those that are not archived.")] = (
        "open"
    )


class ListedSessions(Request):
    """As many sessions as fit into an answer: of the user, or in the namespace of operators of everybody."""

    q: Annotated[str, Doc("Part of a title or an id.")] = ""
    limit: Limit = 1000
    cursor: Annotated[str | None, Doc("The `next_cursor` of the previous answer.")] = None


class NamedSession(Request):
    """A session by its id."""

    session_id: Annotated[str, Doc("The id of a session; `sophon sessions list` shows them.")]


class SessionChange(NamedSession):
    """Change of a session: only what is given changes."""

    title: Annotated[Title | None, Needs("Chat"), Doc("The new title.")] = None
    model: Annotated[str | None, Needs("ChooseModel", unless=()), Doc("null lets routing choose the model again.")] = (
        None
    )
    pinned: Annotated[bool | None, Needs("Chat", unless=()), Doc("Whether it is on top of the list.")] = None
    archived: Annotated[bool | None, Needs("Chat", unless=()), Doc("Whether the lists leave it out.")] = None
    planning: Annotated[str | None, Needs("Chat", unless=()), Doc("null restores the mode of the settings.")] = None


class Export(NamedSession):
    """A session as a file: `json` has all that is stored; `markdown` and `text` are for reading."""

    format: Literal["json", "markdown", "text"] = "json"


class Search(Request):
    """Words to search for: each begins a word of the message."""

    q: Annotated[str, ValueRules(max_length=20_000), Doc("Each word begins a word of the message.")] = ""
    limit: Annotated[int, ValueRules(ge=1, le=100)] = 20
    cursor: Annotated[
        Annotated[str, ValueRules(max_length=1000)] | None, Doc("The `next_cursor` of the previous page.")
    ] = None


@table.operation(
    "POST /api/sessions", needs="Chat", status=201, ok=True, errors=(OffTheRecordFull,), example={"mode": "otr"}
)
async def open_session(caller: Caller, request: NewConversation) -> NewSession:
    """Begin a conversation off the record; one that is kept begins with its first message."""
    off = caller.off_the_record
    if off is None:
        raise InputError("this host has no conversations off the record")
    await off.host.check_message(caller.user.id, ())
    return {**_show(off, await off.sessions.find_or_create_own(off.new_session_id(), has_message=True)), "mode": "otr"}


@table.operation("GET /api/sessions", needs="Read")
async def list_sessions(caller: Caller, request: ListSessions) -> SessionPage:
    """List a page of sessions, newest first; `total` counts all matches, `next_cursor` is null on the last page."""
    page = await _read_page(
        caller,
        caller.owner_filter(request.everything),
        request.q,
        limit=request.limit,
        offset=request.offset,
        cursor=request.cursor,
        kind=None if request.kind == "all" else request.kind,
    )
    return {"items": _show_all(caller, page), "total": page.total, "next_cursor": page.next_cursor}


@table.operation(event="list_sessions", needs="Read", is_large=True)
async def list_latest_sessions(caller: Caller, request: ListedSessions) -> SessionSlice:
    """List sessions, newest first; archived ones, too."""

    async def read(limit: int) -> StoredPage:
        return await _read_page(caller, caller.owner, request.q, limit=limit, cursor=request.cursor)

    page = await read(request.limit)
    shown = take_items(_show_all(caller, page), MAX_LIST_BYTES)
    if len(shown) < len(page.items):  # the cursor is that of the last session that fits
        page = await read(len(shown))
        shown = _show_all(caller, page)
    return {"items": shown, "more": True, "next_cursor": page.next_cursor} if page.next_cursor else {"items": shown}


@table.operation("GET /api/sessions/{session_id}", needs="Read", on=SESSION)
async def get_session(caller: Caller, request: NamedSession, session: SessionSummary) -> SessionView:
    """Return one session."""
    return _show(caller, session)


@table.operation(
    "PATCH /api/sessions/{session_id}",
    needs="Read",
    on=SESSION,
    errors=(NotFound,),
    example={"title": "Boats", "pinned": True},
)
async def change_session(caller: Caller, request: SessionChange, session: SessionSummary) -> SessionView:
    """Rename, pin or archive a session, or set its model or planning mode; an unknown model or mode changes nothing.

    In the answer `title_is_provisional` says that the title is the beginning of the first message.
    """
    sessions, planning = caller.store.sessions, parse_planning_mode(request.planning)
    if "model" in request.fields_set:
        if request.model is not None:
            caller.host.services.gateway.find(request.model)
        await sessions.set_model(session.id, request.model)
    if "planning" in request.fields_set:
        await sessions.set_planning(session.id, planning)
    if request.title is not None:
        await sessions.rename(session.id, request.title)
    if request.pinned is not None or request.archived is not None:
        await sessions.mark(session.id, pinned=request.pinned, archived=request.archived)
    if request.fields_set & {"title", "pinned", "archived"}:
        for each in await sessions.list_family(session.id):  # the branches of a conversation share them
            caller.publish_session(each)
    return _show(caller, await caller.sessions.find(request.session_id))


@table.operation("DELETE /api/sessions/{session_id}", needs="Chat", on=SESSION, ok=True, errors=(Busy,))
async def delete_session(caller: Caller, request: NamedSession, session: SessionSummary) -> Done:
    """Cancel the turns of a session and delete it; `busy` while a turn does not stop.

    It is deleted with all branches of the conversation. A turn has a second to stop: after that, try again.
    """
    await caller.delete_session(session.id)
    return {}


@table.operation("GET /api/sessions/{session_id}/export", needs=("Read", "Export"), on=SESSION)
async def export_session(caller: Caller, request: Export, session: SessionSummary) -> File:
    """Return a session as a file to download."""
    shown, records = visible_session(caller, session), await read_records(caller, session)
    if request.format == "markdown":
        text, media_type, name = session_to_markdown(shown, records), "text/markdown", "session.md"
    elif request.format == "text":
        text, media_type, name = "\n".join(format_transcript(records)) + "\n", "text/plain", "session.txt"
    else:
        export: SessionExport = {
            **session_summary_to_json(shown),
            "records": [session_record_to_json(record) for record in records],
        }
        text, media_type, name = encode_json(export), "application/json", "session.json"
    return File(text.encode(), media_type, name, is_text=True)


@table.operation("GET /api/search", needs="Read", as_tool=True)
async def search_messages(caller: Caller, request: Search) -> MessageHitPage:
    """Search in the user's own messages, newest first; `complete` is false while old ones are indexed.

    Conversations off the record are in another store. Without FullHistory nothing is found by what is redacted.
    """
    to_shown = None if caller.view is None else redact_text_for_reader
    hits = await caller.store.message_search.search(
        caller.user.id, request.q, limit=request.limit, cursor=request.cursor, to_shown=to_shown
    )
    items = [
        message_hit_to_json(
            replace(
                hit,
                session_id=caller.sessions.to_client_id(hit.session_id),
                title=hit.title if to_shown is None else to_shown(hit.title),
            )
        )
        for hit in hits.items
    ]
    return {"items": items, "next_cursor": hits.next_cursor, "complete": hits.is_complete}


def visible_session(caller: Caller, session: SessionSummary) -> SessionSummary:
    """Return a stored session as the caller sees it."""
    shown = session if caller.view is None else caller.view.session(session, is_own=session.owner == caller.user.id)
    return caller.sessions.to_client_session(shown)


async def _read_page(
    caller: Caller,
    owner: str | None,
    search: str,
    *,
    limit: int,
    offset: int = 0,
    cursor: str | None = None,
    kind: SessionKind | None = None,
) -> StoredPage:
    if owner is None and search:
        check_permission(caller, FULL_HISTORY)  # it searches in the titles of others, which are hidden
    return await caller.store.sessions.list_page(
        owner, search=search, limit=limit, offset=offset, cursor=cursor, kind=kind
    )


def _show(caller: Caller, session: SessionSummary) -> SessionView:
    return session_to_json(visible_session(caller, session))


def _show_all(caller: Caller, page: StoredPage) -> list[SessionView]:
    return [_show(caller, each) for each in page.items]
