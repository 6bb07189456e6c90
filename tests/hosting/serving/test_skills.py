"""Skills of a host that runs: a broken one costs one line, never the turn, and a repaired folder is used at once."""

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from tests.programs import PATIENCE_SECONDS, program

__all__ = ["program"]


def write_skill(folder: Path, name: str, header: str = "") -> Path:
    (folder / name).mkdir(parents=True, exist_ok=True)
    path = folder / name / "SKILL.md"
    path.write_text(f"---\nname: {name}\ndescription: About {name}.\n{header}\n---\nDo it.")
    return path


async def ask(client: httpx.AsyncClient) -> tuple[str, list[dict[str, Any]]]:
    """Send a message; return the id of its completed task, and the task's events."""
    task = (await client.post("/api/tasks", json={"content": "hello"})).json()
    after, done = 0, False
    while not done:
        page = await client.get(f"/api/sessions/{task['session_id']}/events", params={"after": after, "wait": 20})
        rows = page.json()["items"]
        after = max([after, *(each["data"]["seq"] for each in rows)])
        done = any(each["event"] == "task_completed" for each in rows)
    found = (await client.get(f"/api/tasks/{task['task_id']}/events")).json()["items"]
    return task["task_id"], found


def offered(events: list[dict[str, Any]]) -> list[str]:
    [names] = [each["data"]["names"] for each in events if each["event"] == "skills_offered"]
    return names


async def test_broken_skills_cost_one_line_each_and_are_used_once_they_are_repaired(
    program: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "data" / "skills"
    write_skill(folder, "good")
    write_skill(folder, "bad", "priority: [")
    write_skill(folder, "egg", "requires: hen")
    write_skill(folder, "hen", "requires: egg")
    world = program()
    serving = await asyncio.to_thread(world.serve)
    async with httpx.AsyncClient(base_url=serving.url, trust_env=False, timeout=PATIENCE_SECONDS) as client:
        task_id, events = await ask(client)
        assert offered(events) == ["good"]
        problems = (await client.get("/api/skills")).json()["problems"]
        assert [each.removeprefix(f"{folder}/").split(" ", 1)[0] for each in problems] == [
            *("bad/SKILL.md:5:", "egg:", "hen:")
        ]
        assert "egg -> hen -> egg" in problems[1]
        assert not any("\n" in each for each in problems)
        shown = (await asyncio.to_thread(world.run, "trace", task_id))[1]
        assert "skills   1 listed" in shown
        assert "tools    " in shown

        write_skill(folder, "bad")
        write_skill(folder, "egg")
        (folder / "good" / "SKILL.md").write_text("nothing any more")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while offered(events) != ["bad", "egg", "hen"]:
            assert time.monotonic() < deadline
            _, events = await ask(client)
        [problem] = (await client.get("/api/skills")).json()["problems"]
        assert problem.startswith(f"{folder}/good/SKILL.md:1: ")
    _, errors = await serving.ended(signal.SIGTERM)
    assert "Traceback" not in errors
