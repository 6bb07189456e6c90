"""A worker process is killed in the midst of a plan, a question and a stream: another one goes on, and who is connected
to another hub process than the one that accepted the message sees all of it.
"""

import asyncio
import signal
from typing import Any

import pytest

from tests import postgres
from tests.hosting.serving.test_group import begin
from tests.programs import Program, Serving

pytestmark = postgres.needs_postgres

PLANNING_BRAIN = '''
"""A model that plans two steps, of which the second waits, and the tool that they use."""
import asyncio
import json
from pathlib import Path

from sophon import ModelResponse, Pipeline, ToolCall, tool
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve

HERE = Path(__file__).parent
STEPS = [
    {"id": "a", "description": "First part", "depends_on": [], "estimated_risk": "low"},
    {"id": "b", "description": "Second part", "depends_on": ["a"], "estimated_risk": "low"},
]


def note(name, text):
    with (HERE / name).open("a") as file:
        file.write(text + chr(10))


@tool()
async def work(what: str) -> str:
    """Do a piece of work."""
    note("worked.txt", what)
    return f"did {what}"


async def answer(request):
    if request.purpose == "plan":
        note("asked.txt", "plan")
        return json.dumps({"goal": "both parts", "steps": STEPS})
    if request.purpose != "step" or request.messages[-1].role == "tool":
        return "done"
    part = "second" if "Second part" in request.messages[-1].content else "first"
    note("asked.txt", part)
    if part == "second":
        (HERE / "waiting").touch()
        while not (HERE / "go").exists():
            await asyncio.sleep(0.01)
    return ModelResponse("", [ToolCall("c1", "work", {"what": part})])


def model():
    return FunctionModel(answer, name="brain")


def chain(services):
    return Pipeline.compose(*twelve(services))
'''


@pytest.fixture
def shared() -> dict[str, Any]:
    """Settings of a group of its own."""
    postgres.empty()
    return {
        "Store": {"Url": postgres.URL},
        "Queue": {"Backend": "Postgres", "Lease": "00:00:03"},
        "AgentExecution": {"Titles": False, "ShutdownGrace": "00:00:01"},
    }


def start_group(here: Program) -> tuple[Serving, Serving, Any]:
    """Two hub processes that run no turns, and a worker."""
    hubs = list[Serving]()
    for _ in range(2):
        process, lines = begin(here, "serve", "--port", "0", "--no-worker")
        hubs.append(Serving(process, lines[0].removeprefix("Sophon is at ").strip()))
    return hubs[0], hubs[1], begin(here, "worker")[0]


def replace_worker(here: Program, worker: Any) -> None:
    """Kill a worker and start another."""
    (here.folder / "waiting").unlink(missing_ok=True)
    worker.send_signal(signal.SIGKILL)
    worker.communicate()
    begin(here, "worker")


def check_order(client: Any) -> None:
    """What a client heard has all seqs, each once and in their order."""
    seqs = [data["seq"] for _, data in client.heard if data and data.get("seq")]
    assert seqs == list(range(1, len(seqs) + 1))


async def test_a_plan_survives_the_death_of_its_worker_and_finished_steps_do_not_run_again(
    program, shared, connect
) -> None:
    here = program(**shared, Planning={"Mode": "Always", "MaxDepth": 1})
    (here.folder / "brain.py").write_text(PLANNING_BRAIN)
    first, second, worker = await asyncio.to_thread(start_group, here)
    sender, page = await connect(first.url), await connect(second.url)
    assert (await page.ask("join_session", {"session_id": "s"}))["ok"]
    sent = await sender.ask("send_message", {"content": "do both parts", "session_id": "s"})
    await page.until("plan_step_changed", step_id="a", status="completed")
    await here.appears("waiting")
    await first.ended(signal.SIGKILL)  # the page is at the other hub
    await asyncio.to_thread(replace_worker, here, worker)
    await here.appears("waiting")
    (here.folder / "go").touch()
    done = await page.until("task_completed", task_id=sent["task_id"])

    assert done["text"]
    assert (here.folder / "worked.txt").read_text().split() == ["first", "second"]
    assert (here.folder / "asked.txt").read_text().split() == ["plan", "first", "second", "second"]
    # A worker that takes over tells the state of each step again, and runs none that has ended.
    steps = {data["step_id"]: data["status"] for name, data in page.heard if name == "plan_step_changed"}
    assert steps == {"a": "completed", "b": "completed"}
    check_order(page)


async def test_a_question_survives_the_death_of_the_worker_that_asked_it(program, shared, connect) -> None:
    here = program(**shared)
    first, second, worker = await asyncio.to_thread(start_group, here)
    sender, page = await connect(first.url), await connect(second.url)
    await page.ask("join_session", {"session_id": "s"})
    sent = await sender.ask("send_message", {"content": "pay Bob", "session_id": "s"})
    asked = await page.until("approval_requested")
    await first.ended(signal.SIGKILL)
    await asyncio.to_thread(replace_worker, here, worker)
    decided = await page.ask("decide_approval", {"approval_id": asked["approval_id"], "decision": "approve"})
    assert decided["ok"], decided
    done = await page.until("task_completed", task_id=sent["task_id"])
    assert (done["text"], here.paid()) == ("PAID BOB", ["Bob"])
    assert [name for name, _ in page.heard].count("approval_resolved") == 1
    check_order(page)


async def test_a_stream_survives_the_death_of_the_worker_that_streamed_it(program, shared, connect) -> None:
    here = program(**shared)
    first, second, worker = await asyncio.to_thread(start_group, here)
    sender, page = await connect(first.url), await connect(second.url)
    await page.ask("join_session", {"session_id": "s"})
    sent = await sender.ask("send_message", {"content": "tell", "session_id": "s", "stream": True})
    await page.until("stream_chunk", text="one ")
    await here.appears("waiting")
    await first.ended(signal.SIGKILL)
    await asyncio.to_thread(replace_worker, here, worker)
    await here.appears("waiting")
    (here.folder / "go").touch()
    done = await page.until("task_completed", task_id=sent["task_id"])
    assert done["text"] == "one two"
    shown = ""
    for name, data in page.heard:
        if name == "stream_reset":
            shown = ""
        elif name == "stream_chunk":
            assert data["offset"] == len(shown), "a gap or a repetition"
            shown += data["text"]
    assert shown == "one two"
    check_order(page)
