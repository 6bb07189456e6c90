"""`/api/approvals`: list approvals and decide them."""

from typing import Annotated, Any, Literal, Self

from aiohttp import web
from pydantic import Field, model_validator

from sophon.approvals import Decision
from sophon_hosting.http.exchange import Body, Query, answer, body_of, desk_of, query_of
from sophon_hosting.views import approval_view


class Listed(Query):
    """Query of the approval list: open approvals only by default; `everything` (all users') is for operators."""

    session_id: str | None = None
    open_only: bool = True
    everything: bool = False


class Decided(Body):
    """Body of a decision. `arguments` belong to `edit` only, and replace all arguments of the call."""

    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = None
    reason: Annotated[str, Field(max_length=2000)] = ""

    @model_validator(mode="after")
    def _check_arguments(self) -> Self:
        if (self.decision == "edit") != (self.arguments is not None):
            raise ValueError("`arguments` are required for the decision `edit`, and only for it")
        return self


def approval_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    item = "/api/approvals/{approval_id}"
    return [web.get("/api/approvals", listed), web.get(item, shown), web.post(item, decided)]


async def listed(request: web.Request) -> web.Response:
    """List approvals, oldest first."""
    query = query_of(request, Listed)
    records = await desk_of(request).approvals(
        session_id=query.session_id, open_only=query.open_only, everything=query.everything
    )
    return answer({"items": [approval_view(each) for each in records]})


async def shown(request: web.Request) -> web.Response:
    """Return one approval, with its decision if it has one."""
    return answer(approval_view(await desk_of(request).approval(request.match_info["approval_id"])))


async def decided(request: web.Request) -> web.Response:
    """Decide an approval; the first decision wins."""
    body = await body_of(request, Decided)
    decision = Decision(body.decision, body.reason, body.arguments or {})
    record = await desk_of(request).decide(request.match_info["approval_id"], decision)
    return answer({"ok": True, **approval_view(record)})
