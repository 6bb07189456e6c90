"""Rows of a user, one for each kind that operations are about, made by the user's own requests where there are any."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from sophon import Risk, ToolCall
from sophon.approvals import ApprovalRequest
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.runs.contract import Run
from tests.hosting.http.api_shapes.served import Served

TITLE = "kestrel"
"""Word in every row of everybody, which nobody else may be shown."""


async def _add_goal(served: Served, user: str) -> str:
    made = await served.send("POST /api/goals", {"title": TITLE}, user=user)
    return str(made.json()["goal_id"])


async def _add_schedule(served: Served, user: str) -> str:
    made = await served.send("POST /api/schedules", {"text": TITLE, "cron": "0 8 * * *"}, user=user)
    return str(made.json()["schedule_id"])


async def _add_approval(served: Served, user: str) -> str:
    """Nobody trusts Zoe to call `pay`, so the question is stored as a turn would have asked it."""
    await served.store.runs.accept(Run(f"asked-{user}", f"asked-{user}", user, text=TITLE))
    call = ToolCall("c", "pay", {"to": TITLE})
    request = ApprovalRequest.from_call(call, f"asked-{user}", Risk.HIGH, session_id=f"asked-{user}")
    await served.store.approvals.get_or_create(request, served.services.clock.now())
    return request.id


async def _add_grant(served: Served, user: str) -> str:
    now, grant_id = served.services.clock.now(), f"grt_{user}"
    until = now + timedelta(days=1)
    grant = StandingGrant(grant_id, "always", user, "", "wreck", "high", {}, f"to: {TITLE}", user, now, until)
    await served.store.grants.add(grant)
    return grant_id


ROWS: Mapping[str, Callable[[Served, str], Awaitable[str]]] = {
    "approval": _add_approval,
    "goal": _add_goal,
    "grant": _add_grant,
    "schedule": _add_schedule,
}
"""Function that makes a row of a user and returns its id, by the kind that `Subject` names."""
