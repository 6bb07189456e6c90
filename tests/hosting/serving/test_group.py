"""Several processes on one PostgreSQL and one queue: who they are, who is refused, and a rolling restart."""

import asyncio
import signal
from typing import Any

import httpx
import pytest

from tests import postgres
from tests.programs import PATIENCE_SECONDS, Program, Serving

pytestmark = postgres.needs_postgres

GRACE = {"Titles": False, "ShutdownGrace": "00:00:01"}


@pytest.fixture
def shared() -> dict[str, Any]:
    """Settings of a group of its own."""
    postgres.empty()
    return {
        "Store": {"Url": postgres.URL},
        "Queue": {"Backend": "Postgres", "Lease": "00:00:03"},
        "AgentExecution": GRACE,
    }


def begin(here: Program, *arguments: str) -> tuple[Any, list[str]]:
    """Start a command, and wait until it says that it runs; return what it said."""
    process, lines = here.start(*arguments), list[str]()
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C stops it" in line:
            return process, lines
    raise AssertionError(process.communicate()[1])


def list_hosts(host: Serving) -> list[dict[str, Any]]:
    return host.get("/api/hosts")["items"]


def test_the_processes_of_a_group_know_each_other(program, shared) -> None:
    here = program(**shared)
    hub, lines = begin(here, "serve", "--port", "0", "--no-worker")
    url = lines[0].removeprefix("Sophon is at ").strip()
    assert any("hub without a worker of the queue Postgres sophon" in line for line in lines)
    first, (worker, _) = Serving(hub, url), begin(here, "worker")
    here.until(lambda: len(list_hosts(first)) == 2)
    found = list_hosts(first)
    assert [(each["role"], each["is_this"]) for each in found] == [("hub", True), ("worker", False)]
    task = httpx.post(f"{url}/api/tasks", json={"content": "hello", "session_id": "s"}, trust_env=False).json()[
        "task_id"
    ]
    here.until(lambda: first.get(f"/api/tasks/{task}")["status"] == "completed")
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=PATIENCE_SECONDS)
    assert worker.returncode == 0
    assert [each["role"] for each in list_hosts(first)] == ["hub"]


def test_a_process_with_a_queue_of_its_own_is_refused_beside_a_group(program, shared) -> None:
    here = program(**shared)
    here.serve()
    here.set(Store=shared["Store"])
    code, _, errors = here.run("serve", "--port", "0")
    assert (code, "is using this store with another kind of queue" in errors) == (1, True)


def test_a_hub_whose_tasks_nobody_would_run_is_refused(program) -> None:
    code, _, errors = program().run("serve", "--port", "0", "--no-worker")
    assert (code, "leave out --no-worker" in errors) == (1, True)


def test_other_settings_are_told_by_section_and_never_by_value(program, shared) -> None:
    here = program(**shared)
    first = here.serve()
    here.set(**shared, Memory={"Enabled": False})
    second = here.serve()
    here.until(lambda: len(list_hosts(second)) == 2)
    errors = second.end(signal.SIGTERM)[1]
    assert "what differs: Memory" in errors
    first.end(signal.SIGTERM)


async def test_a_restart_of_one_process_after_the_other_loses_no_event(program, shared, connect) -> None:
    here = program(**shared)
    first, second = await asyncio.to_thread(here.serve), await asyncio.to_thread(here.serve)
    client = await connect(first.url)
    sent = await client.ask("send_message", {"content": "tell", "session_id": "s", "stream": True})
    await here.appears("waiting")
    for host in (first, second):
        (here.folder / "waiting").unlink(missing_ok=True)
        assert (await host.ended(signal.SIGTERM))[0] == 0
        restarted = await asyncio.to_thread(here.serve, host.port)
        assert restarted.url == host.url
    await client.connected_again()
    (here.folder / "go").touch()

    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(name == "task_completed" for name, _ in client.heard):
            seen = max((data["seq"] for _, data in client.heard if data and data.get("seq")), default=0)
            joined = await client.ask("join_session", {"session_id": "s", "last_seq": seen})
            for each in joined["events"]:
                client._hear(each["event"], each["data"])
            await asyncio.sleep(0.05)
    # What is pushed while a join that asks for it is answered is heard twice, under one seq.
    ended = {data["seq"]: (data["task_id"], data["text"]) for name, data in client.heard if name == "task_completed"}
    assert list(ended.values()) == [(sent["task_id"], "one two")]
    seqs = [data["seq"] for _, data in client.heard if data and data.get("seq")]
    assert sorted(set(seqs)) == list(range(1, max(seqs) + 1))
