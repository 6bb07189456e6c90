"""Rows of a user, one for each kind that operations are about; each holds a word that nobody else may be shown."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

from sophon.builtin_tools.custom_tool_management import refresh_custom_tools
from sophon.learning.trajectories import Trajectory
from sophon.skills.custom_tools import CustomToolDraft
from sophon.stores import MemoryEntry
from sophon.stores.grants.contract import StandingGrant
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon_hosting.events.large_fields import text_id_from_url
from sophon_hosting.store.runs.contract import Run, RunOutcome
from tests.hosting.http.api_shapes.features import BINARY
from tests.hosting.http.api_shapes.served import PATIENCE_SECONDS, Served

USERS = ("ada", "zoe", "olga")
"""Users who have rows; Bob has none."""


def secret_of(user: str) -> str:
    """Return the word in every row of a user."""
    return f"kestrel-of-{user}"


async def _send_message(served: Served, user: str) -> str:
    return await served.finish(f"hello {secret_of(user)}", f"session-of-{user}", user=user)


async def _add_session(served: Served, user: str) -> str:
    await _send_message(served, user)
    return f"session-of-{user}"


async def _find_message(served: Served, user: str) -> str:
    page = await served.send(f"GET /api/sessions/{await _add_session(served, user)}/messages", user=user)
    return str(page.json()["items"][-1]["message_id"])


async def _ask_approval(served: Served, user: str) -> str:
    task_id = await served.begin(f"pay {secret_of(user)}", f"paying-{user}", user=user)
    await served.until_status(task_id, "suspended")
    open_ones = await served.store.approvals.list(open_only=True)
    return next(each.request.id for each in open_ones if each.request.arguments["to"] == secret_of(user))


async def _send_off_the_record(served: Served, user: str) -> str:
    body = {"content": f"hello {secret_of(user)}", "mode": "otr"}
    return str((await served.send("POST /api/tasks", body, user=user)).json()["task_id"])


async def _begin_off_the_record(served: Served, user: str) -> str:
    task_id = await _send_off_the_record(served, user)
    return str((await served.send(f"GET /api/tasks/{task_id}", user=user)).json()["session_id"])


async def _receive_long_text(served: Served, user: str) -> str:
    await served.finish("long", f"long-of-{user}", user=user)
    page = await served.send(f"GET /api/sessions/long-of-{user}/messages?cut=true", user=user)
    return text_id_from_url(page.json()["items"][-1]["large"]["content"]["url"])


async def _add_grant(served: Served, user: str) -> str:
    now, secret = served.services.clock.now(), secret_of(user)
    grant = StandingGrant(
        f"grt_{user}",
        "always",
        user,
        "",
        "files.write",
        "high",
        {"path": {}},
        secret,
        user,
        now,
        now + timedelta(days=1),
    )
    return (await served.store.grants.add(grant)).id


async def _add_goal(served: Served, user: str) -> str:
    made = await served.send("POST /api/goals", {"title": secret_of(user)}, user=user)
    path = f"GET /api/goals/{made.json()['goal_id']}"
    async with asyncio.timeout(PATIENCE_SECONDS):  # until its step asks, so that nothing of it changes by itself
        while not any(node["waits"] for node in (await served.send(path, user=user)).json()["graph"]):
            await asyncio.sleep(0)
    return str(made.json()["goal_id"])


async def _add_schedule(served: Served, user: str) -> str:
    made = await served.send("POST /api/schedules", {"text": secret_of(user), "cron": "0 8 * * *"}, user=user)
    return str(made.json()["schedule_id"])


async def _upload_attachment(served: Served, user: str) -> str:
    secret = secret_of(user)
    path = f"POST /api/attachments?name={secret}.txt"
    made = await served.send(path, user=user, content=secret.encode(), headers=BINARY)
    return str(made.json()["attachment"]["id"])


async def _remember(served: Served, user: str) -> str:
    await served.services.memory.write(MemoryEntry(f"memory-of-{user}", secret_of(user), scope=user))
    return f"memory-of-{user}"


async def _add_trajectory(served: Served, user: str) -> str:
    task_id, secret = await _send_message(served, user), secret_of(user)
    run = await served.store.runs.get(task_id)
    kept = Trajectory(task_id, run.session_id, user, served.services.clock.now(), secret, secret)
    await served.store.trajectories.add([TrajectoryWrite(kept, 10)])
    return task_id


async def _write_custom_tool(served: Served, user: str) -> str:
    services, name = served.services, f"double_{user}"
    assert services.assistant.custom_tools is not None
    draft = CustomToolDraft(name, secret_of(user), "print(1)", {"type": "object"})
    services.assistant.custom_tools.create(draft, owner=user, at="2026-01-01")
    refresh_custom_tools(services.toolbox, services.assistant.custom_tools, services.settings.tools.disabled)
    return name


async def _add_sub_agent(served: Served, user: str) -> str:
    task_id, now = f"delegating-{user}", served.services.clock.now()
    await served.store.runs.accept(Run(task_id, task_id, user, text=secret_of(user)))
    await served.store.runs.finish(task_id, RunOutcome("cancelled"))  # else the host would begin it at some time
    row = SubAgentRun(f"{task_id}/1", task_id, task_id, "helper", task_id, user, secret_of(user), "working", 1, now)
    await served.store.sub_agents.put([row])
    return row.id


async def _name_person(served: Served, user: str) -> str:
    return user


ROWS: Mapping[str, Callable[[Served, str], Awaitable[str]]] = {
    "session": _add_session,
    "task": _send_message,
    "trace": _send_message,
    "trajectory": _add_trajectory,
    "approval": _ask_approval,
    "grant": _add_grant,
    "goal": _add_goal,
    "schedule": _add_schedule,
    "sub-agent": _add_sub_agent,
    "attachment": _upload_attachment,
    "memory entry": _remember,
    "person": _name_person,
    "message": _find_message,
    "text": _receive_long_text,
    "session off the record": _begin_off_the_record,
    "task off the record": _send_off_the_record,
    "custom tool": _write_custom_tool,
}
"""Function that makes a row of a user and returns its id, by the kind that `Subject` names."""
