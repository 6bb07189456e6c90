"""Results of sessions: summaries, branches, search hits, exports."""

from typing import Literal, NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.messages import Role
from sophon.stores.sessions.branches import BranchPoint
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.features.sessions.session_export import ExportedRecord, ExportedSummary
from sophon_hosting.store.message_search.hits import MessageHit


class SessionView(TypedDict):
    """A session in a list; `conversation` is the id of the first branch of its conversation, null without branches."""

    session_id: str
    title: str
    title_is_provisional: bool
    pinned: bool
    archived: bool
    owner: str
    messages: int
    model: str | None
    planning: str | None
    forked_from: str | None
    forked_at: int | None
    conversation: str | None
    created_at: str
    updated_at: str


class NewSession(SessionView):
    """A new conversation off the record."""

    mode: Literal["otr"]


class SessionPage(TypedDict):
    """A page of sessions, newest first; `total` counts all matches, `next_cursor` is null on the last page."""

    items: list[SessionView]
    total: int
    next_cursor: str | None


class SessionSlice(TypedDict):
    """As many sessions as fit into an acknowledgement; `more` and `next_cursor` if others follow."""

    items: list[SessionView]
    more: NotRequired[bool]
    next_cursor: NotRequired[str]


class BranchPointView(TypedDict):
    """Place where branches go different ways: the seq of the first record that differs, one session per way, and which
    of them is the way of this session.
    """

    seq: int
    options: list[str]
    index: int


class BranchList(TypedDict):
    """The places where the branches of a conversation part, as this session goes."""

    items: list[BranchPointView]


class SnippetView(TypedDict):
    """A piece of the text around a hit; one with `match` is to be marked."""

    text: str
    match: bool


class MessageHitView(TypedDict):
    """A message that a search has found; the pieces of its snippet are in order."""

    session_id: str
    title: str
    message_id: str
    seq: int
    role: Role
    at: str
    snippet: list[SnippetView]


class MessageHitPage(TypedDict):
    """A page of hits, newest first; `complete` is false while old messages are still indexed."""

    items: list[MessageHitView]
    next_cursor: str | None
    complete: bool


class SessionExport(ExportedSummary):
    """A session with all its records."""

    records: list[ExportedRecord]


def session_to_json(session: SessionSummary) -> SessionView:
    """Return a session summary as JSON."""
    return {
        "session_id": session.id,
        "title": session.shown_title,
        "title_is_provisional": not session.title,
        "pinned": session.pinned,
        "archived": session.archived,
        "owner": session.owner,
        "messages": session.message_count,
        "model": session.model,
        "planning": session.planning,
        "forked_from": session.forked_from,
        "forked_at": session.forked_at,
        "conversation": session.family,
        "created_at": session.created_at.isoformat(),
        "updated_at": session.updated_at.isoformat(),
    }


def branch_point_to_json(point: BranchPoint) -> BranchPointView:
    """Return a branch point as JSON."""
    return {"seq": point.seq, "options": list(point.options), "index": point.index}


def message_hit_to_json(hit: MessageHit) -> MessageHitView:
    """Return a hit of the search as JSON."""
    return {
        "session_id": hit.session_id,
        "title": hit.title,
        "message_id": f"{hit.session_id}:{hit.seq}",
        "seq": hit.seq,
        "role": cast(Role, hit.role),
        "at": hit.at.isoformat(),
        "snippet": [{"text": part.text, "match": part.is_match} for part in hit.snippet],
    }
