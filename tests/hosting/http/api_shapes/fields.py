"""Requests with every field that they may have: what clients send today must not be refused."""

from typing import Any
from urllib.parse import urlencode

from tests.hosting.http.api_shapes.features import BINARY
from tests.hosting.http.api_shapes.served import Served

SCHEDULE = {"time_zone": "Europe/Vienna", "title": "t", "misfire": "Skip", "quiet_hours": "22:00-07:00"}


async def call_all(served: Served) -> None:
    """Make the calls, of operators."""
    task_id = await served.finish("hello", "fields", user="olga")
    await send_queries(served, task_id)
    await send_bodies(served, task_id)
    await send_schedules(served)
    await send_events(served, task_id)


async def send_queries(served: Served, task_id: str) -> None:
    """Send every parameter of every query."""
    page = (await served.send("GET /api/sessions?limit=1&everything=true", user="olga")).json()
    searched = (await served.send("GET /api/search?q=hello&limit=1")).json()
    everything, session = {"everything": "true"}, {"session_id": "fields"}
    chosen = {"limit": 5, **everything}
    queries: dict[str, list[dict[str, Any]]] = {
        "/api/sessions": [
            {"q": "h", "offset": 0, **chosen, "kind": kind} for kind in ("open", "archived", "pinned", "all")
        ]
        + [{"cursor": page["next_cursor"], **chosen}],
        "/api/sessions/fields/messages": [{"after": 0, "limit": 5, "cut": "true"}, {"before": 9, "limit": 5}],
        "/api/sessions/fields/events": [{"after": 0, "limit": 5, "wait": 1}],
        "/api/tasks": [{**session, "status": "completed", "before": task_id, **chosen}],
        f"/api/tasks/{task_id}/stream": [{"epoch": 1, "start": 0, "end": 5}],
        "/api/approvals": [{**session, "open_only": "false", **everything}],
        "/api/agents": [everything],
        "/api/goals": [{"archived": "true", **chosen}],
        "/api/grants": [everything],
        "/api/logs": [{"after": 0, "level": "Debug", "text": "kettle", "limit": 5, "wait": 1}],
        "/api/memory": [{"q": "cat", **chosen}],
        "/api/schedules": [everything],
        "/api/usage": [{"since": "2026-01-01", **session}],
        "/api/usage/turns": [{"days": 5, **everything}],
        "/api/traces": [{**session, **chosen}],
        f"/api/traces/{task_id}": [{"format": "json"}],
        "/api/trajectories": [{"order": order, **chosen} for order in ("newest", "best", "poorest")]
        + [{"like": "hello", **chosen}],
        "/api/routing/explain": [{"text": "hello"}],
        "/api/tools/version": [{"after": "x", "wait": 1}],
        "/api/audit": [
            {
                "event": "executed",
                **session,
                "chat": "x",
                "principal": "ada",
                "tool": "pay",
                "capability": "x",
                "capability_level": "safe",
                "risk": "high",
                "outcome": "ok",
                "since": "2026-01-01",
                "until": "2026-01-01T12:00",
                "before": 9,
                "limit": 5,
            }
        ],
    }
    for path, given in queries.items():
        for query in given:
            await served.accept(f"GET {path}?{urlencode(query)}", user="olga")
    await served.accept(f"GET /api/search?{urlencode({'q': 'hello', 'cursor': searched['next_cursor'], 'limit': 5})}")
    await served.accept("DELETE /api/memory?all=true", user="olga")


async def send_bodies(served: Served, task_id: str) -> None:
    """Send every field of every body."""
    upload = await served.accept(
        "POST /api/attachments?name=a.txt&mode=normal", user="olga", content=b"one", headers=BINARY
    )
    await served.accept("POST /api/attachments?name=a.txt&mode=otr", user="olga", content=b"one", headers=BINARY)
    again = {"client_message_id": "f1", "stream": False, "model": "main/main", "planning": "Never"}
    more = {"max_iterations": 5, "metadata": {"temperature": 0.5, "tags": ["a"]}, "mode": "normal"}
    message = {"content": "hello", **again, **more, "attachments": [upload.json()["attachment"]["id"]]}
    ids = [(await served.accept("POST /api/tasks", {**message, "session_id": "fields"}, user="olga")).json()["task_id"]]
    await served.until_ended(ids[0])
    replaced = {**message, "client_message_id": "f2", "attachments": None, "replaces": task_id}
    sent = await served.accept("POST /api/sessions/fields/messages", replaced, user="olga")
    await served.until_ended(sent.json()["task_id"])
    replaced = {**replaced, "client_message_id": "f7", "session_id": "fields"}
    sent = await served.accept("POST /api/tasks", replaced, user="olga")
    await served.until_ended(sent.json()["task_id"])
    regenerate = f"POST /api/sessions/fields/tasks/{task_id}/regenerate"
    repeated = await served.accept(regenerate, {**again, "client_message_id": "f3"}, user="olga")
    await served.until_ended(repeated.json()["task_id"])
    call = {"arguments": {}, "session_id": "fields", "client_message_id": "f4"}
    called = await served.accept("POST /api/tools/datetime.now/call", call, user="olga")
    await served.until_ended(called.json()["task_id"])

    question: dict[str, Any] = {"model": "main/main", "messages": [{"role": "user", "content": "hello"}]}
    options = {"n": 1, "response_format": {"type": "text"}, "client_message_id": "f8", "temperature": 0.5}
    await served.accept("POST /v1/chat/completions", {**question, **options})

    marks = {"title": "t", "model": None, "pinned": False, "archived": False, "planning": None}
    bodies: list[tuple[str, dict[str, Any]]] = [
        ("PATCH /api/sessions/fields", marks),
        ("POST /api/sessions/fields/fork", {"session_id": "fork-1", "upto": 1}),
        ("POST /api/sessions/fields/fork", {"session_id": "fork-2", "task_id": task_id}),
        (f"POST /api/tasks/{task_id}/feedback", {"value": -0.5, "text": "no", "source": "page"}),
        ("POST /api/goals", {"title": "t", "description": "d", "autonomy": "assist", "session_id": "fields"}),
        ("POST /api/tokens", {"user": "ada", "scopes": ["Read", "Chat"], "name": "n", "days": None}),
        (f"POST /api/traces/{task_id}/replay", {"chain": "clawft", "model": "main/main"}),
        ("POST /api/policy/test", {"tool": "pay", "arguments": {"to": "Bob"}}),
        ("PATCH /api/tools/double", {"enabled": True, "shared": True}),
        (
            "PUT /api/preferences",
            {
                "language": "German",
                "style": "short",
                "time_zone": "Europe/Vienna",
                "model": "main/main",
                "verbosity": "brief",
                "notes": "n",
            },
        ),
    ]
    for call_line, body in bodies:
        await served.accept(call_line, body, user="olga")


async def send_schedules(served: Served) -> None:
    """Make a schedule in each way to say when."""
    times: list[dict[str, Any]] = [
        {"cron": "0 8 * * *"},
        {"every": "15 minutes"},
        {"at": "08:00", "day": "tomorrow"},
        {"in_minutes": 5.5},
    ]
    for given in times:
        body = {"text": "x", "session_id": "fields", **SCHEDULE, "quiet_action": "Skip", **given}
        made = await served.accept("POST /api/schedules", body, user="olga")
        change = {"text": "y", "state": "paused", **SCHEDULE, "quiet_action": "Postpone", **given}
        await served.accept(f"PATCH /api/schedules/{made.json()['schedule_id']}", change, user="olga")


async def send_events(served: Served, task_id: str) -> None:
    """Send every field of every client event."""
    again = {"stream": False, "model": "main/main", "planning": "Never"}
    sent = {
        "content": "hello",
        "session_id": "fields",
        "client_message_id": "f5",
        **again,
        "max_iterations": 5,
        "metadata": {"temperature": 0.5, "tags": ["a"]},
        "mode": "normal",
        "attachments": None,
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "replaces": None,
    }
    first = await served.accept_event("send_message", sent)
    await served.until_ended(first["task_id"])
    regenerated = {"session_id": "fields", "task_id": task_id, "client_message_id": "f6", **again}
    second = await served.accept_event("regenerate", regenerated)
    await served.until_ended(second["task_id"])
    await served.accept_event("join_session", {"session_id": "fields", "last_seq": 1})
    await served.accept_event("send_feedback", {"task_id": task_id, "value": 0.5, "text": "t", "source": "page"})
    await served.accept_event("list_tasks", {"limit": 5, "before": task_id})
    page = await served.accept_event("list_sessions", {"q": "", "limit": 1})
    await served.accept_event("list_sessions", {"q": "", "limit": 5, "cursor": page["next_cursor"]})
    decisions: list[dict[str, Any]] = [
        {"decision": "edit", "arguments": {"to": "Ada"}, "reason": "r", "session_id": "fields"},
        {"decision": "approve", "grant": "always", "reason": "r", "session_id": "fields"},
    ]
    for decision in decisions:
        asked = await served.begin("pay Bob", "fields", user="olga")
        await served.until_status(asked, "suspended")
        approvals = (await served.send("GET /api/approvals?session_id=fields", user="olga")).json()["items"]
        await served.accept_event("decide_approval", {"approval_id": approvals[-1]["approval_id"], **decision})
        await served.until_ended(asked)
