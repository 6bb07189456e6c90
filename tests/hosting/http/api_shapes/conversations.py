"""Recorded calls of conversations: sessions, messages, tasks, branches, approvals and grants."""

import asyncio

from tests.hosting.http.api_shapes.served import PATIENCE_SECONDS, Served


async def call_all(served: Served) -> None:
    """Make the calls."""
    await call_tasks(served)
    await call_sessions(served)
    await call_approvals(served)
    await call_running_tasks(served)
    await call_large_texts(served)
    await call_sub_agents(served)


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
    await served.call("PATCH /api/sessions/s", {"model": "main/main"}, note="model")
    await served.call("PATCH /api/sessions/s", {"model": "none"}, note="unknown model")
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
    edited = await served.begin("pay Eve")
    await served.until_status(edited, "suspended")
    waiting = (await served.send("GET /api/approvals")).json()["items"][0]["approval_id"]
    edit = {"decision": "edit", "arguments": {"to": "Ada"}, "reason": "not Eve", "session_id": "s"}
    await served.call(f"POST /api/approvals/{waiting}", edit, note="edited")
    await served.until_ended(edited)
    await served.call("GET /api/approvals?open_only=false", note="decided")
    await served.call(f"GET /api/tasks/{task_id}/events", note="with a tool call")
    await served.call("GET /api/sessions/s/messages", note="with a tool call")
    grants = await served.call("GET /api/grants")
    grant_id = grants.json()["items"][0]["grant_id"]
    await served.call(f"DELETE /api/grants/{grant_id}", user="bob", note="of another user")
    await served.call(f"DELETE /api/grants/{grant_id}")
    await served.call(f"DELETE /api/grants/{grant_id}", note="revoked before")


async def call_running_tasks(served: Served) -> None:
    """Read a reply that is being streamed, cancel its task, and read a failed one."""
    task_id = await served.begin("stream it", "running")
    path = f"/api/tasks/{task_id}/stream?epoch=1"
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await served.send(f"GET {path}")).json()["text"] is None:
            await asyncio.sleep(0)
    waiting = await served.begin("hello", "running")
    await served.call(f"GET {path}", note="running")
    await served.call(f"GET /api/tasks/{task_id}", note="running")
    await served.call(f"GET /api/tasks/{waiting}", note="queued")
    await served.call(f"GET /api/traces/{task_id}", note="running")
    await served.call("GET /api/traces?session_id=running", note="running")
    await served.call("DELETE /api/queue", note="no such method")
    await served.call(f"POST /api/tasks/{task_id}/cancel", note="running")
    await served.until_ended(task_id)
    await served.until_ended(waiting)
    await served.call(f"GET /api/tasks/{task_id}/events", note="cancelled")
    failed = await served.finish("fail now", "failed")
    await served.call(f"GET /api/tasks/{failed}", note="failed")
    await served.call(f"GET /api/tasks/{failed}/events", note="failed")
    await served.call("GET /api/sessions/failed/messages", note="failed")
    await served.call(f"GET /api/traces/{failed}", note="failed")
    called = await served.call("POST /api/tools/pay/call", {"arguments": {"to": "Bob"}, "client_message_id": "c"})
    await served.call(
        "POST /api/tools/pay/call", {"arguments": {"to": "Bob"}, "client_message_id": "c"}, note="repeated"
    )
    await served.call("POST /api/tools/none/call", {}, note="unknown")
    await served.call("POST /api/tools/pay/call", {"arguments": {"too": 1}}, note="wrong arguments")
    called_id = called.json()["task_id"]
    await served.until_status(called_id, "suspended")
    await served.call(f"POST /api/tasks/{called_id}/cancel", note="suspended")
    await served.until_status(called_id, "cancelled")
    done = (await served.send("POST /api/tools/datetime.now/call", {})).json()["task_id"]
    await served.until_ended(done)
    await served.call(f"GET /api/tasks/{done}", note="of a tool call")


async def call_large_texts(served: Served) -> None:
    """Read a text that is cut in events and in a page of messages."""
    await served.finish("long", "long")
    page = await served.call("GET /api/sessions/long/messages?cut=true", note="with a large text")
    url = page.json()["items"][-1]["large"]["content"]["url"]
    text = await served.call(f"GET {url}")
    await served.call(f"GET {url}", headers={"If-None-Match": text.headers["ETag"]}, note="known")
    await served.call("GET /api/sessions/long/texts/none", note="unknown")
    await served.call("GET /api/sessions/long/events", note="with a large text")


async def call_sub_agents(served: Served) -> None:
    """Look at a sub-agent that works, and cancel it."""
    task_id = await served.begin("delegate", "agents")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await served.stalled.wait()
    running = (await served.call("GET /api/agents", note="with a running one")).json()["running"]
    await served.call("GET /api/agents?everything=true", note="everything as a user")
    await served.call(f"GET /api/tasks/{task_id}", note="with a running sub-agent")
    await served.call("POST /api/agents/cancel", {"agent_id": running[0]["agent_id"]})
    await served.call("POST /api/agents/cancel", {"agent_id": f"{task_id}/agent-x"}, note="unknown")
    await served.until_ended(task_id)
    await served.call(f"GET /api/tasks/{task_id}", note="with a cancelled sub-agent")
    await served.call(f"GET /api/tasks/{task_id}/events", note="with a sub-agent")
    await served.call(f"GET /api/traces/{task_id}", note="with a sub-agent")
    await served.call("GET /api/agents/none", note="unknown")
