"""Recorded calls of conversations: sessions, messages, tasks, branches, approvals and grants."""

from tests.hosting.http.api_shapes.served import Served


async def call_all(served: Served) -> None:
    """Make the calls."""
    await call_tasks(served)
    await call_sessions(served)
    await call_approvals(served)


async def call_tasks(served: Served) -> None:
    """Send messages, and read what became of them."""
    sent = await served.call("POST /api/tasks", {"content": "hello", "session_id": "s", "client_message_id": "k"})
    task_id = sent.json()["task_id"]
    await served.until_ended(task_id)
    again = {"content": "hello", "session_id": "s", "client_message_id": "k"}
    await served.call("POST /api/tasks", again, note="repeated")
    await served.call("POST /api/tasks", {"content": "hello", "colour": "red"}, note="unknown field")
    otr = await served.call("POST /api/tasks", {"content": "hello", "mode": "otr"}, note="off the record")
    assert otr.status_code == 202
    second = await served.call("POST /api/sessions/s/messages", {"content": "and you?"})
    await served.until_ended(second.json()["task_id"])
    regenerated = await served.call(f"POST /api/sessions/s/tasks/{task_id}/regenerate", {"client_message_id": "r"})
    await served.until_ended(regenerated.json()["task_id"])
    await served.call(f"POST /api/sessions/s/tasks/{task_id}/regenerate", {"client_message_id": "r"}, note="repeated")

    await served.call("GET /api/tasks")
    await served.call("GET /api/tasks?everything=true", note="everything as a user")
    await served.call("GET /api/tasks?everything=true", user="olga", note="everything")
    await served.call(f"GET /api/tasks/{task_id}")
    await served.call("GET /api/tasks/none", note="unknown")
    await served.call(f"GET /api/tasks/{task_id}", user="bob", note="of another user")
    await served.call(f"GET /api/tasks/{task_id}/events")
    await served.call(f"GET /api/tasks/{task_id}/feedback", note="none given")
    await served.call(f"POST /api/tasks/{task_id}/feedback", {"value": 1, "text": "good"})
    await served.call(f"POST /api/tasks/{task_id}/feedback", {"value": 2}, note="out of range")
    await served.call(f"GET /api/tasks/{task_id}/feedback")
    await served.call(f"GET /api/tasks/{task_id}/stream?epoch=0", note="ended")
    await served.call(f"POST /api/tasks/{task_id}/cancel", note="ended")


async def call_sessions(served: Served) -> None:
    """Read and change sessions."""
    await served.call("POST /api/sessions", {"mode": "otr"})
    await served.call("POST /api/sessions", {"mode": "normal"}, note="wrong mode")
    await served.call("GET /api/sessions")
    await served.call("GET /api/sessions", user="", note="without a token")
    await served.call("GET /api/sessions?limit=1", note="page")
    await served.call("GET /api/sessions?colour=red", note="unknown field")
    await served.call("GET /api/sessions/s")
    await served.call("GET /api/sessions/none", note="unknown")
    await served.call("PATCH /api/sessions/s", {"title": "Hello", "pinned": True, "planning": "Never"})
    await served.call("PATCH /api/sessions/s", {"title": ""}, note="empty title")
    await served.call("GET /api/sessions/s/messages?limit=1")
    await served.call("GET /api/sessions/s/messages?before=100&cut=true", note="backwards")
    message = await served.call("GET /api/sessions/s/messages/1")
    await served.call(
        "GET /api/sessions/s/messages/1", headers={"If-None-Match": message.headers["ETag"]}, note="known"
    )
    await served.call("GET /api/sessions/s/messages/999", note="unknown")
    await served.call("GET /api/sessions/s/events?limit=500")
    await served.call("GET /api/sessions/s/events?wait=10&limit=1", note="long poll")
    await served.call("GET /api/sessions/s/branches")
    for form in ("json", "markdown", "text"):
        await served.call(f"GET /api/sessions/s/export?format={form}", note=form)
    await served.call("POST /api/sessions/s/fork", {"session_id": "copy"})
    await served.call("POST /api/sessions/s/fork", {"upto": 1, "task_id": "t"}, note="two ends")
    await served.call("GET /api/search?q=hello")
    await served.call("DELETE /api/sessions/copy")
    await served.call("DELETE /api/sessions/copy", note="deleted before")


async def call_approvals(served: Served) -> None:
    """Decide approvals, and use and revoke grants."""
    task_id = await served.begin("pay Bob")
    await served.until_status(task_id, "suspended")
    listed = await served.call("GET /api/approvals")
    approval_id = listed.json()["items"][0]["approval_id"]
    await served.call(f"GET /api/tasks/{task_id}", note="suspended")
    await served.call(f"GET /api/approvals/{approval_id}")
    await served.call("GET /api/approvals/none", note="unknown")
    await served.call(f"POST /api/approvals/{approval_id}", {"decision": "maybe"}, note="no decision")
    await served.call(f"POST /api/approvals/{approval_id}", {"decision": "approve", "grant": "session"})
    await served.until_ended(task_id)
    await served.call(f"POST /api/approvals/{approval_id}", {"decision": "reject"}, note="decided before")
    await served.call("GET /api/approvals?open_only=false", note="decided")
    await served.call(f"GET /api/tasks/{task_id}/events", note="with a tool call")
    await served.call("GET /api/sessions/s/messages", note="with a tool call")
    grants = await served.call("GET /api/grants")
    grant_id = grants.json()["items"][0]["grant_id"]
    await served.call(f"DELETE /api/grants/{grant_id}", user="bob", note="of another user")
    await served.call(f"DELETE /api/grants/{grant_id}")
    await served.call(f"DELETE /api/grants/{grant_id}", note="revoked before")
