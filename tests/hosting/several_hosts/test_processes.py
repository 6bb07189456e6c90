"""Two processes as people run them: one is killed, and what it ran goes on; a task is cancelled at the other one."""

import signal
from typing import Any

import httpx
import pytest

from tests import postgres
from tests.programs import PATIENCE_SECONDS, Program, Serving, program

pytestmark = postgres.needs_postgres

__all__ = ["program"]


@pytest.fixture
def shared() -> dict[str, Any]:
    """Settings of a group of its own."""
    postgres.empty()
    return {
        "Store": {"Url": postgres.URL},
        "Queue": {"Backend": "Postgres", "Lease": "00:00:03"},
        "AgentExecution": {"Titles": False, "ShutdownGrace": "00:00:01"},
    }


def post(host: Serving, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = httpx.post(host.url + path, json=body, trust_env=False, timeout=PATIENCE_SECONDS)
    return answer.json()


def run_waiting(here: Program) -> tuple[Serving, Serving, str]:
    """Two processes, of which the first runs a task that waits; the id of that."""
    first = here.serve()
    task = post(first, "/api/tasks", {"content": "wait", "session_id": "s"})["task_id"]
    here.until((here.folder / "waiting").exists)
    return first, here.serve(), task


def test_what_a_killed_process_ran_is_resumed_by_the_other(program, shared) -> None:
    here = program(**shared)
    first, second, task = run_waiting(here)
    (here.folder / "waiting").unlink()
    first.process.send_signal(signal.SIGKILL)
    here.until((here.folder / "waiting").exists)
    (here.folder / "go").touch()
    here.until(lambda: second.get(f"/api/tasks/{task}")["status"] == "completed")
    messages = second.get("/api/sessions/s/messages")["items"]
    assert [each["content"] for each in messages] == ["wait", "WAIT"]


def test_a_task_is_cancelled_at_the_process_that_does_not_run_it(program, shared) -> None:
    here = program(**shared)
    _, second, task = run_waiting(here)
    post(second, f"/api/tasks/{task}/cancel", {})
    here.until(lambda: second.get(f"/api/tasks/{task}")["status"] == "cancelled")
