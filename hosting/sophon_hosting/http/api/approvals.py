"""`/api/approvals`: list approvals and decide them."""

from typing import Annotated, Any, Literal

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.approvals import Decision
from sophon_hosting.features.approvals.results import ApprovalList, approval_to_json
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    get_authorized_host,
    json_response,
    parse_body,
    parse_query,
)


class ApprovalListQuery(RequestQuery):
    """Query of the approval list: open approvals only by default; `all_users` (all users') is for operators."""

    session_id: str | None = None
    open_only: bool = True
    everything: bool = False


class DecisionBody(RequestBody):
    """Body of a decision. `arguments` belong to `edit` only, and replace all arguments of the call. A question is
    decided by `answer`, whose text is `reason`, or by `reject`.

    `grant` belongs to `approve`: later calls like it run without a question, in this session or always.
    A given `session_id` must be that of the approval.
    """

    decision: Literal["approve", "reject", "edit", "answer"]
    arguments: dict[str, Any] | None = None
    reason: Annotated[str, ValueRules(max_length=2000)] = ""
    session_id: str | None = None
    grant: Literal["session", "always"] | None = None

    def check(self) -> None:
        """Allow arguments and a grant where they belong only."""
        if (self.decision == "edit") != (self.arguments is not None):
            raise ValueError("`arguments` are required for the decision `edit`, and only for it")
        if self.grant is not None and self.decision != "approve":
            raise ValueError("`grant` belongs to the decision `approve`")


routes = web.RouteTableDef()


@routes.get("/api/approvals")
async def list_approvals(request: web.Request) -> web.Response:
    """List approvals, oldest first."""
    query = parse_query(request, ApprovalListQuery)
    records = await get_authorized_host(request).list_approvals(
        session_id=query.session_id, open_only=query.open_only, all_users=query.everything
    )
    found: ApprovalList = {"items": [approval_to_json(each) for each in records]}
    return json_response(found)


@routes.get("/api/approvals/{approval_id}")
async def get_approval(request: web.Request) -> web.Response:
    """Return one approval, with its decision if it has one."""
    return json_response(
        approval_to_json(await get_authorized_host(request).get_approval(request.match_info["approval_id"]))
    )


@routes.post("/api/approvals/{approval_id}")
async def decide_approval(request: web.Request) -> web.Response:
    """Decide an approval; the first decision wins."""
    body = await parse_body(request, DecisionBody)
    decision = Decision(body.decision, body.reason, body.arguments or {}, grant=body.grant)
    record = await get_authorized_host(request).decide_approval(
        request.match_info["approval_id"], decision, session_id=body.session_id
    )
    return json_response({"ok": True, **approval_to_json(record)})
