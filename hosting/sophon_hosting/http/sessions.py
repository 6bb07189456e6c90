"""`/api/sessions`: list, read, change, fork, export and delete sessions; their messages and events."""

from typing import Annotated, Literal, Self

from aiohttp import web
from pydantic import Field, StringConstraints, model_validator

from sophon.stores.contracts import SessionSummary
from sophon_hosting.cli.records import record_json, summary_json, told
from sophon_hosting.http.exchange import Body, Query, answer, body_of, desk_of, query_of
from sophon_hosting.http.markdown import as_markdown
from sophon_hosting.views import logged_view, message_view, session_view

Limit = Annotated[int, Field(ge=1, le=1000)]
Offset = Annotated[int, Field(ge=0, le=2**31)]
Seq = Annotated[int, Field(ge=0, le=2**53)]


ENDINGS = {"json": "json", "markdown": "md", "text": "txt"}


class Listed(Query):
    """Query of the session list: `q` is searched in titles and ids; `everything` (all users') is for operators."""

    q: str = ""
    limit: Limit = 100
    offset: Offset = 0
    everything: bool = False


class Paged(Query):
    """Query of a page of events: those after a seq."""

    after: Seq = 0
    limit: Limit = 200


class Window(Paged):
    """Query of a page of messages: the first after a seq, or with `before` the last before one; in ascending order."""

    before: Seq | None = None

    @model_validator(mode="after")
    def _check_direction(self) -> Self:
        if self.before is not None and self.after:
            raise ValueError("after and before cannot be combined")
        return self


class Changed(Body):
    """Body of a session update: only given fields change; `model: null` lets routing choose the model again."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    model: str | None = None


class Forked(Body):
    """Body of a fork: the id of the copy (generated if missing), and the seq up to which messages are copied."""

    session_id: str | None = None
    upto: Seq | None = None


class Exported(Query):
    """Query of an export: `json` has all stored data; `markdown` and `text` are for reading."""

    format: Literal["json", "markdown", "text"] = "json"


def session_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    item = "/api/sessions/{session_id}"
    return [
        web.get("/api/sessions", listed),
        web.get(item, shown),
        web.patch(item, changed),
        web.delete(item, deleted),
        web.get(f"{item}/messages", messages),
        web.get(f"{item}/events", events),
        web.get(f"{item}/export", exported),
        web.post(f"{item}/fork", forked),
    ]


async def listed(request: web.Request) -> web.Response:
    """List a page of sessions, newest first; `total` counts all matches."""
    query = query_of(request, Listed)
    sessions = await desk_of(request).sessions(everything=query.everything)
    matches = [each for each in sessions if _matches(each, query.q)]
    page = matches[query.offset : query.offset + query.limit]
    return answer({"items": [session_view(each) for each in page], "total": len(matches)})


async def shown(request: web.Request) -> web.Response:
    """Return one session."""
    return answer(session_view(await desk_of(request).session(_session_id(request))))


async def changed(request: web.Request) -> web.Response:
    """Rename a session or set its model; an unknown model changes nothing."""
    body, authorized_host = await body_of(request, Changed), desk_of(request)
    session = await authorized_host.session(_session_id(request))
    if "model" in body.model_fields_set:
        session = await authorized_host.choose_model(session.id, body.model)
    if body.title is not None:
        session = await authorized_host.rename(session.id, body.title)
    return answer(session_view(session))


async def deleted(request: web.Request) -> web.Response:
    """Cancel the session's turns and delete it. Raises Busy while a turn does not stop."""
    await desk_of(request).delete(_session_id(request))
    return answer({"ok": True})


async def messages(request: web.Request) -> web.Response:
    """Return a page of the session's records: messages with their tool calls, and outcomes of failed turns."""
    query = query_of(request, Window)
    records = await desk_of(request).records(_session_id(request), query.after)
    if query.before is None:
        page = records[: query.limit]
    else:
        records = [record for record in records if record.seq < query.before]
        page = records[-query.limit :]
    items = [message_view(_session_id(request), each) for each in page]
    return answer({"items": items, "more": len(records) > len(page)})


async def events(request: web.Request) -> web.Response:
    """Return the durable events after a seq, in the format of Socket.IO."""
    query = query_of(request, Paged)
    rows = await desk_of(request).events(_session_id(request), query.after, query.limit + 1)
    page = [logged_view(_session_id(request), row) for row in rows[: query.limit]]
    return answer({"items": page, "more": len(rows) > query.limit})


async def exported(request: web.Request) -> web.Response:
    """Return the session as a file to download."""
    query, authorized_host = query_of(request, Exported), desk_of(request)
    session = await authorized_host.session(_session_id(request))
    records = await authorized_host.records(session.id)
    if query.format == "markdown":
        response = web.Response(text=as_markdown(session, records), content_type="text/markdown", charset="utf-8")
    elif query.format == "text":
        response = web.Response(text="\n".join(told(records)) + "\n", content_type="text/plain", charset="utf-8")
    else:
        response = answer({**summary_json(session), "records": [record_json(record) for record in records]})
    response.headers["Content-Disposition"] = f'attachment; filename="session.{ENDINGS[query.format]}"'
    return response


async def forked(request: web.Request) -> web.Response:
    """Copy the session to a new one and return that."""
    body = await body_of(request, Forked)
    copy = await desk_of(request).fork(_session_id(request), body.session_id, upto=body.upto)
    return answer(session_view(copy), 201)


def _session_id(request: web.Request) -> str:
    return request.match_info["session_id"]


def _matches(session: SessionSummary, words: str) -> bool:
    return all(word in f"{session.title}\n{session.id}".lower() for word in words.lower().split())
