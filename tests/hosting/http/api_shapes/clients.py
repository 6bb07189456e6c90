"""Recorded calls of clients of Socket.IO, and of the OpenAI-compatible API."""

from tests.hosting.http.api_shapes.served import Served


async def call_all(served: Served) -> None:
    """Make the calls."""
    await call_events(served)
    await call_openai(served)


async def call_events(served: Served) -> None:
    """Send every client event."""
    sent = await served.ask("send_message", {"content": "hello", "session_id": "hub"})
    await served.until_ended(sent["task_id"])
    await served.ask("send_message", {"content": "hello", "mode": "otr"}, note="off the record")
    await served.ask("send_message", {"content": 1, "colour": "red"}, note="unknown field")
    await served.ask("send_message", {"content": "hello", "model": "none"}, note="unknown model")
    again = await served.ask("regenerate", {"session_id": "hub", "task_id": sent["task_id"]})
    await served.until_ended(again["task_id"])
    await served.ask("regenerate", {"session_id": "hub", "task_id": "none"}, note="unknown")
    await served.ask("join_session", {"session_id": "hub"})
    await served.ask("join_session", {"session_id": "hub"}, user="bob", note="not begun yet")
    await served.ask("leave_session", {"session_id": "hub"})
    await served.ask("cancel_task", {"task_id": sent["task_id"]})
    await served.ask("cancel_task", {"task_id": "none"}, note="unknown")
    await served.ask("send_feedback", {"task_id": sent["task_id"], "value": 1.0})
    await served.ask("send_feedback", {"task_id": sent["task_id"], "value": 2.0}, note="out of range")

    task_id = await served.begin("pay Bob", "hub")
    await served.until_status(task_id, "suspended")
    approvals = await served.ask("list_approvals", {})
    await served.ask("list_approvals", {"colour": "red"}, note="unknown field")
    decision = {"approval_id": approvals["items"][-1]["approval_id"], "decision": "reject"}
    await served.ask("decide_approval", decision)
    await served.ask("decide_approval", decision, note="decided before")
    await served.until_ended(task_id)
    await served.ask("list_sessions", {})
    await served.ask("list_sessions", {"limit": 1}, note="page")
    await served.ask("list_tasks", {})
    await served.ask("list_tasks", {"limit": 0}, note="out of range")
    await served.ask("list_task", {}, note="unknown event")
    await hear_events(served)


async def hear_events(served: Served) -> None:
    """Record what a client is sent while turns call tools, ask sub-agents, fail and are cancelled."""
    await served.ask("join_session", {"session_id": "heard", "last_seq": 0}, note="with a seq")
    served.heard.clear()
    for content, end in (("hello", "completed"), ("fail now", "failed")):
        await served.until_heard(f"task_{end}", await served.begin(content, "heard"))
    asked = await served.begin("pay Bob", "heard")
    await served.until_heard("approval_requested", asked)
    approval_id = served.heard["approval_requested"][-1]["approval_id"]
    await served.send(f"POST /api/approvals/{approval_id}", {"decision": "approve"})
    await served.until_heard("task_completed", asked)
    streamed = await served.begin("stream it", "heard")
    await served.until_heard("stream_chunk", streamed)
    await served.send(f"POST /api/tasks/{streamed}/cancel")
    await served.until_heard("task_cancelled", streamed)
    served.recorder.add_pushed_events(served.heard)


async def call_openai(served: Served) -> None:
    """Let the OpenAI-compatible API answer, whole and as a stream."""
    body = {"model": "sophon", "messages": [{"role": "user", "content": "hello"}]}
    stream = {**body, "stream": True, "stream_options": {"include_usage": True}}
    await served.call("GET /v1/models")
    await served.call("POST /v1/chat/completions", body)
    await served.call("POST /v1/chat/completions", stream, note="stream")
    await served.call("POST /v1/chat/completions", {**body, "model": "none"}, note="unknown model")
    await served.call("POST /v1/chat/completions", {"messages": []}, note="without a message")
    await served.call("POST /v1/chat/completions", body, user="", note="without a token")
