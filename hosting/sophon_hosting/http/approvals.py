"""`/api/approvals`: what waits for a person, and the decision."""

from typing import Annotated, Any, Literal, Self

from aiohttp import web
from pydantic import Field, model_validator

from sophon.approvals import Decision
from sophon_hosting.http.exchange import Body, Query, answer, body_of, desk_of, query_of
from sophon_hosting.views import approval_view


class Listed(Query):
    """The open ones, or all there were; `everything` is for operators."""

    session_id: str | None = None
    open_only: bool = True
    everything: bool = False


class Decided(Body):
    """`arguments` are those of an edit, all of them."""

    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = None
    reason: Annotated[str, Field(max_length=2000)] = ""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if (self.decision == "edit") != (self.arguments is not None):
            raise ValueError("`arguments` belong to the decision `edit`, and to no other")
        return self


def routes() -> list[web.RouteDef]:
    """All of them."""
    one = "/api/approvals/{approval_id}"
    return [web.get("/api/approvals", listed), web.get(one, shown), web.post(one, decided)]


async def listed(request: web.Request) -> web.Response:
    """The oldest first."""
    found = await desk_of(request).approvals(**query_of(request, Listed).model_dump())
    return answer({"items": [approval_view(each) for each in found]})


async def shown(request: web.Request) -> web.Response:
    """One question, with its answer once there is one."""
    return answer(approval_view(await desk_of(request).approval(request.match_info["approval_id"])))


async def decided(request: web.Request) -> web.Response:
    """Decide; the first decision wins."""
    body = await body_of(request, Decided)
    decision = Decision(body.decision, body.reason, body.arguments or {})
    record = await desk_of(request).decide(request.match_info["approval_id"], decision)
    return answer({"ok": True, **approval_view(record)})
