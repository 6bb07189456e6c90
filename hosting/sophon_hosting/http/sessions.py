"""`/api/sessions`: conversations, what was said in them, and what happened."""

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
    """`q` is looked for in titles and ids; `everything` is for operators."""

    q: str = ""
    limit: Limit = 100
    offset: Offset = 0
    everything: bool = False


class Paged(Query):
    """What follows a seq."""

    after: Seq = 0
    limit: Limit = 200


class Window(Paged):
    """What follows a seq, or with `before` the last that precede one; in order in both cases."""

    before: Seq | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.before is not None and self.after:
            raise ValueError("after and before do not go together")
        return self


class Changed(Body):
    """What is given is changed; `model: null` lets routing choose again."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = None
    model: str | None = None


class Forked(Body):
    """The id of the copy, made up without one, and the seq up to which it is a copy."""

    session_id: str | None = None
    upto: Seq | None = None


class Exported(Query):
    """As `json`, everything that is kept; as `markdown` or plain `text`, to be read."""

    format: Literal["json", "markdown", "text"] = "json"


def routes() -> list[web.RouteDef]:
    """All of them."""
    one = "/api/sessions/{session_id}"
    return [
        web.get("/api/sessions", listed),
        web.get(one, shown),
        web.patch(one, changed),
        web.delete(one, deleted),
        web.get(f"{one}/messages", messages),
        web.get(f"{one}/events", events),
        web.get(f"{one}/export", exported),
        web.post(f"{one}/fork", forked),
    ]


async def listed(request: web.Request) -> web.Response:
    """The newest first, a page of them; `total` counts all that match."""
    query = query_of(request, Listed)
    found = [each for each in await desk_of(request).sessions(everything=query.everything) if _matches(each, query.q)]
    page = found[query.offset : query.offset + query.limit]
    return answer({"items": [session_view(each) for each in page], "total": len(found)})


async def shown(request: web.Request) -> web.Response:
    """One session."""
    return answer(session_view(await desk_of(request).session(_id(request))))


async def changed(request: web.Request) -> web.Response:
    """Rename it, or choose its model; nothing is changed if the model is none."""
    body, desk = await body_of(request, Changed), desk_of(request)
    session = await desk.session(_id(request))
    if "model" in body.model_fields_set:
        session = await desk.choose_model(session.id, body.model)
    if body.title is not None:
        session = await desk.rename(session.id, body.title)
    return answer(session_view(session))


async def deleted(request: web.Request) -> web.Response:
    """Stop what runs in it, and forget it; `busy` while something does not stop."""
    await desk_of(request).delete(_id(request))
    return answer({"ok": True})


async def messages(request: web.Request) -> web.Response:
    """The log of a conversation: messages with their tool calls, and how turns ended that failed."""
    query = query_of(request, Window)
    records = await desk_of(request).records(_id(request), query.after)
    if query.before is None:
        page = records[: query.limit]
    else:
        records = [record for record in records if record.seq < query.before]
        page = records[-query.limit :]
    return answer({"items": [message_view(_id(request), each) for each in page], "more": len(records) > len(page)})


async def events(request: web.Request) -> web.Response:
    """The durable events after a seq, as over Socket.IO."""
    query = query_of(request, Paged)
    rows = await desk_of(request).events(_id(request), query.after, query.limit + 1)
    page = [logged_view(_id(request), row) for row in rows[: query.limit]]
    return answer({"items": page, "more": len(rows) > query.limit})


async def exported(request: web.Request) -> web.Response:
    """A file to keep."""
    query, desk = query_of(request, Exported), desk_of(request)
    session = await desk.session(_id(request))
    records = await desk.records(session.id)
    if query.format == "markdown":
        response = web.Response(text=as_markdown(session, records), content_type="text/markdown", charset="utf-8")
    elif query.format == "text":
        response = web.Response(text="\n".join(told(records)) + "\n", content_type="text/plain", charset="utf-8")
    else:
        response = answer({**summary_json(session), "records": [record_json(record) for record in records]})
    response.headers["Content-Disposition"] = f'attachment; filename="session.{ENDINGS[query.format]}"'
    return response


async def forked(request: web.Request) -> web.Response:
    """A copy that goes its own way."""
    body = await body_of(request, Forked)
    copy = await desk_of(request).fork(_id(request), body.session_id, upto=body.upto)
    return answer(session_view(copy), 201)


def _id(request: web.Request) -> str:
    return request.match_info["session_id"]


def _matches(session: SessionSummary, words: str) -> bool:
    return all(word in f"{session.title}\n{session.id}".lower() for word in words.lower().split())
