"""Rows of a user, one for each kind that operations are about, made by the user's own requests where there are any."""

from collections.abc import Awaitable, Callable, Mapping

from tests.hosting.http.api_shapes.served import Served

TITLE = "kestrel"
"""Word in every row of everybody, which nobody else may be shown."""


async def _add_goal(served: Served, user: str) -> str:
    made = await served.send("POST /api/goals", {"title": TITLE}, user=user)
    return str(made.json()["goal_id"])


async def _add_schedule(served: Served, user: str) -> str:
    made = await served.send("POST /api/schedules", {"text": TITLE, "cron": "0 8 * * *"}, user=user)
    return str(made.json()["schedule_id"])


ROWS: Mapping[str, Callable[[Served, str], Awaitable[str]]] = {
    "goal": _add_goal,
    "schedule": _add_schedule,
}
"""Function that makes a row of a user and returns its id, by the kind that `Subject` names."""
