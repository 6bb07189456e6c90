"""Recorded calls of what users have beside conversations: goals, schedules, memory, files, traces, and all of it."""

import asyncio

from sophon.learning.trajectories import Trajectory
from sophon.stores import MemoryEntry
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.store.runs.contract import InboundKey, Run
from tests.hosting.features.imports.exports import chatgpt_conversation, claude_conversation, zipped
from tests.hosting.http.api_shapes.served import PATIENCE_SECONDS, Served

BINARY = {"Content-Type": "application/octet-stream"}


async def call_all(served: Served) -> None:
    """Make the calls."""
    await call_goals(served)
    await call_schedules(served)
    await call_memory(served)
    await call_files(served)
    await call_traces(served)
    await call_persons(served)


async def call_goals(served: Served) -> None:
    """Make a goal whose step waits for a person, and change it."""
    made = await served.call("POST /api/goals", {"title": "Birds", "description": "Pay for them", "session_id": "s"})
    path = f"/api/goals/{made.json()['goal_id']}"
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(node["waits"] for node in (await served.send(f"GET {path}")).json()["graph"]):
            await asyncio.sleep(0)
    await served.call("POST /api/goals", {"title": " "}, note="without a title")
    await served.call("GET /api/goals")
    await served.call("GET /api/goals?everything=true", note="everything as a user")
    await served.call(f"GET {path}")
    await served.call(f"GET {path}", user="bob", note="of another user")
    await served.call(f"POST {path}/pause")
    await served.call(f"POST {path}/resume")
    await served.call(f"POST {path}/cancel")
    await served.call(f"POST {path}/pause", note="cancelled before")
    await served.call(f"DELETE {path}")
    await served.call(f"DELETE {path}", note="deleted before")


async def call_schedules(served: Served) -> None:
    """Make a schedule, change it, and read what it has fired."""
    body = {"text": "tell me the news", "cron": "0 8 * * *", "session_id": "s", "title": "News"}
    schedule_id = (await served.call("POST /api/schedules", body)).json()["schedule_id"]
    await served.call("POST /api/schedules", {"text": "tell me the news", "cron": "x"}, note="no time")
    stored = await stored_schedules(served.store).find(schedule_id)
    assert stored is not None
    key = InboundKey("schedule", schedule_id, "2026-01-01T08:00:00+00:00 one")
    await served.store.runs.accept(Run("fired", stored.session_id, "ada", "hub", {}, "x", {}), key)
    await served.server.host.queue.put(QueueEntry("fired", stored.session_id))
    await served.until_ended("fired")
    path = f"/api/schedules/{schedule_id}"
    await served.call("GET /api/schedules")
    await served.call(f"GET {path}")
    await served.call(f"GET {path}", user="bob", note="of another user")
    await served.call(f"PATCH {path}", {"text": "tell me the weather"})
    await served.call(f"PATCH {path}", {"state": "paused"}, note="paused")
    await served.call(f"PATCH {path}", {"text": "pay olga"}, user="olga", note="of another user as an operator")
    await served.call(f"DELETE {path}")
    await served.call(f"DELETE {path}", note="deleted before")


async def call_memory(served: Served) -> None:
    """Remember, correct, forget, export and import; and read and edit workspace files."""
    for name in ("one", "two", "three"):
        source = "http.request https://example.org"
        entry = MemoryEntry(name, f"{name} cat", scope="ada", session_id="s", sources=(source,))
        await served.services.memory.write(entry)
    await served.call("GET /api/workspace")
    await served.call("GET /api/workspace", user="olga", note="as an operator")
    await served.call("GET /api/workspace/USER.md", note="not written yet")
    saved = await served.call("PUT /api/workspace/USER.md", {"text": "# Cat\n\nAda has a cat.\n", "version": ""})
    await served.call("PUT /api/workspace/USER.md", {"text": "x", "version": "old"}, note="changed meanwhile")
    await served.call("GET /api/workspace/USER.md")
    await served.call("GET /api/workspace/SOUL.md", note="of operators")
    assert saved.status_code == 200
    await served.call("GET /api/memory?q=cat")
    await served.call("GET /api/memory?everything=true", user="olga", note="everything")
    await served.call("GET /api/memory/one")
    await served.call("GET /api/memory/one", user="bob", note="of another user")
    await served.call("PATCH /api/memory/one", {"text": "a dog"})
    await served.call("PATCH /api/memory/one", {"text": ""}, note="empty text")
    exported = await served.call("GET /api/memory/export")
    await served.call("POST /api/memory/import", {"items": exported.json()["items"]}, user="bob")
    await served.call("POST /api/memory/import", {"items": [1]}, note="no entries")
    await served.call("DELETE /api/memory/one")
    await served.call("DELETE /api/memory/one", note="deleted before")
    await served.call("DELETE /api/memory?ids=two,none")
    await served.call("DELETE /api/memory", note="without ids")
    await served.call("GET /api/preferences", note="none")
    await served.call("PUT /api/preferences", {"language": "German", "style": "short", "notes": "x"})
    await served.call("PUT /api/preferences", {"model": "none"}, note="unknown model")
    await served.call("GET /api/preferences")


async def call_files(served: Served) -> None:
    """Upload, download and delete files, and import conversations."""
    uploaded = await served.call("POST /api/attachments?name=note.txt", content=b"remember the milk", headers=BINARY)
    sent_id = uploaded.json()["attachment"]["id"]
    other = await served.send("POST /api/attachments?name=other.txt", content=b"nothing", headers=BINARY)
    other_id = other.json()["attachment"]["id"]
    await served.call("POST /api/attachments?colour=red", content=b"x", headers=BINARY, note="unknown field")
    await served.call("POST /api/attachments?name=a.exe", content=b"MZ\0\0", headers=BINARY, note="media type")
    await served.finish("read it", "files", attachments=[sent_id])
    await served.call("GET /api/sessions/files/messages", note="with a file")
    await served.call("GET /api/attachments")
    await served.call(f"GET /api/attachments/{sent_id}")
    await served.call(f"GET /api/attachments/{sent_id}", user="bob", note="of another user")
    await served.call(f"DELETE /api/attachments/{sent_id}", note="in use")
    await served.call(f"DELETE /api/attachments/{other_id}")

    file = zipped(conversations_json=[chatgpt_conversation(), claude_conversation(chat_messages=[])])
    await served.call("POST /api/sessions/import?dry_run=true", content=file, headers=BINARY, note="dry run")
    await served.call("POST /api/sessions/import", content=file, headers=BINARY)
    await served.call("POST /api/sessions/import", content=b"hello", headers=BINARY, note="no export")


async def call_traces(served: Served) -> None:
    """Read traces, trajectories and use, and replay a turn."""
    task_id = await served.finish("hello again", "traced")
    run, now = await served.store.runs.get(task_id), served.services.clock.now()
    scores = {"overall": 0.9, "relevance": 0.5}
    kept = Trajectory(task_id, run.session_id, "ada", now, "hello", "HELLO", scores=scores, quality=0.9, feedback=1.0)
    await served.store.trajectories.add([TrajectoryWrite(kept, 10)])
    await served.call("GET /api/traces")
    await served.call("GET /api/traces?session_id=traced", note="of a session")
    await served.call("GET /api/traces?everything=true", note="everything as a user")
    await served.call(f"GET /api/traces/{task_id}")
    await served.call(f"GET /api/traces/{task_id}?format=otlp", note="otlp")
    await served.call("GET /api/traces/none", note="unknown")
    await served.call(f"GET /api/traces/{task_id}/messages")
    await served.call("GET /api/traces/none/messages", note="unknown")
    await served.call("GET /api/replay-choices")
    await served.call("GET /api/replay-choices", user="olga", note="as an operator")
    await served.call(f"POST /api/traces/{task_id}/replay", {})
    await served.call(f"POST /api/traces/{task_id}/replay", {"chain": "clawft"}, note="chain as a user")
    await served.call("GET /api/trajectories")
    await served.call("GET /api/trajectories?like=hello", note="similar")
    await served.call(f"GET /api/trajectories/{task_id}")
    await served.call("GET /api/trajectories/none", note="unknown")
    await served.call("GET /api/usage?session_id=traced", note="of a session")
    await served.call("GET /api/usage/turns")
    await served.call("GET /api/usage/turns?everything=true", user="olga", note="everything")


async def call_persons(served: Served) -> None:
    """Export everything of a user, and forget another one."""
    await served.finish("hello", "bobs", user="bob")
    await served.call("GET /api/persons/ada")
    await served.call("GET /api/persons/ada", user="bob", note="of another user")
    await served.call("DELETE /api/persons/bob", user="bob")
    await served.call("DELETE /api/persons/ada", user="bob", note="of another user")
