"""A state is continued once: whoever comes second gets TurnAlreadyRun, in every store."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sophon import Context, Decision, ModelRequest, ModelResponse, Pipeline, Response, Risk, Services, ToolCall, tool
from sophon.errors import ModelError, TurnAlreadyRun
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import FunctionModel, VirtualClock
from sophon.turn.turn_claim import Progress, read_progress
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ToolExecution
from sophon_middlewares.chains import twelve
from tests import postgres

NewStore = Callable[[], Awaitable[Store]]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgresql", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        postgres.without_rows()
        return postgres.MIGRATED
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
async def new_store(url: str, tmp_path: Path) -> AsyncGenerator[NewStore]:
    """Opens the one store anew, as another process would."""
    opened: list[Store] = []
    memory = InMemoryStore()

    async def open_store() -> Store:
        store = memory if url == "memory://" else host_store_from_url(url, folder=tmp_path)
        await store.open()
        opened.append(store)
        return store

    yield open_store
    for store in opened:
        await store.close()


class Program:
    """A program over a store: a High tool that waits for `may_end`, and a person who decides."""

    def __init__(self, store: Store, *, chain: str = "twelve", is_planned: bool = False) -> None:
        self.launched: Counter[str] = Counter()
        self.decision = Decision.suspend()
        self.entered, self.may_end = asyncio.Event(), asyncio.Event()
        self.may_end.set()

        @tool(risk=Risk.HIGH)
        async def launch(what: str) -> str:
            """Launch it."""
            self.launched[what] += 1
            self.entered.set()
            await self.may_end.wait()
            return "off it goes"

        self.services = Services(models=FunctionModel(self.answer), tools=[launch], approvals=self, store=store)
        parts = (AgenticLoop(), Approval(), ToolExecution(), LlmInvoker())
        self.pipeline = twelve(self.services) if chain == "twelve" else Pipeline.compose(*parts)
        self.planning = "Always" if is_planned else None

    async def request(self, request: Any) -> Decision:
        return self.decision

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            steps = [{"id": name, "description": f"do {name}"} for name in ("a", "b")]
            return json.dumps({"goal": "g", "steps": steps})
        if request.messages[-1].role != "user" or request.purpose not in ("reply", "step"):
            return "done"
        if request.purpose == "reply" and self.planning:
            return "done"
        return ModelResponse(tool_calls=[ToolCall("c1", "launch", {"what": request.messages[-1].content})])

    async def suspend(self) -> str:
        ctx = self.services.turn("go", session_id="s", planning=self.planning)
        assert (await self.pipeline.run(ctx)).finish_reason == "suspended"
        return json.dumps(ctx.state())

    async def resume(self, state: str) -> str:
        self.decision = Decision.approve()
        return (await self.pipeline.run(self.services.restore(json.loads(state)))).text


@pytest.mark.parametrize("is_planned", [False, True], ids=["plain", "plan"])
async def test_a_state_that_was_run_to_its_end_runs_no_second_time(new_store: NewStore, is_planned: bool) -> None:
    first = Program(await new_store(), is_planned=is_planned)
    state = await first.suspend()
    await first.resume(state)
    launched, history = Counter(first.launched), await first.services.history("s")

    second = Program(await new_store(), is_planned=is_planned)
    with pytest.raises(TurnAlreadyRun, match="has ended"):
        await second.resume(state)
    assert max(launched.values()) == 1
    assert not second.launched
    assert await second.services.history("s") == history


@pytest.mark.parametrize("chain", ["twelve", "without a record of the end"])
async def test_of_two_runs_at_once_one_is_told_that_the_turn_is_running(new_store: NewStore, chain: str) -> None:
    first, second = Program(await new_store(), chain=chain), Program(await new_store(), chain=chain)
    state = await first.suspend()
    first.may_end.clear()
    running = asyncio.ensure_future(first.resume(state))
    await first.entered.wait()
    with pytest.raises(TurnAlreadyRun, match="is running"):
        await second.resume(state)
    first.may_end.set()
    await running
    with pytest.raises(TurnAlreadyRun, match="has ended"):
        await second.resume(state)
    assert first.launched.total() == 1
    assert not second.launched


async def test_a_double_click_continues_the_turn_once(new_store: NewStore) -> None:
    program = Program(await new_store())
    state = await program.suspend()
    ends = await asyncio.gather(*(program.resume(state) for _ in range(4)), return_exceptions=True)
    assert [each for each in ends if isinstance(each, str)] == ["done"]
    assert sum(isinstance(each, TurnAlreadyRun) for each in ends) == 3
    assert program.launched.total() == 1
    assert [each.role for each in await program.services.history("s")] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("is_suspended", [False, True])
async def test_one_context_that_is_run_twice_at_once_runs_once(new_store: NewStore, is_suspended: bool) -> None:
    program = Program(await new_store())
    ctx = program.services.turn("go", session_id="s")
    if is_suspended:
        await program.pipeline.run(ctx)
    program.decision = Decision.approve()
    clicks = (program.pipeline.run(ctx) for _ in range(2))
    first, second = await asyncio.gather(*clicks, return_exceptions=True)
    assert isinstance(first, Response)
    assert isinstance(second, TurnAlreadyRun)
    assert (first.text, second.progress, program.launched.total()) == ("done", "running", 1)
    assert [each.role for each in await program.services.history("s")] == ["user", "assistant", "tool", "assistant"]


async def test_a_state_from_the_middle_of_a_turn_that_has_ended_is_refused(new_store: NewStore) -> None:
    program, states = Program(await new_store()), list[dict[str, Any]]()

    async def keep(ctx: Context, next: Any) -> None:
        states.append(json.loads(json.dumps(ctx.state())))
        await next(ctx)

    record, *others = program.pipeline
    program.decision = Decision.approve()
    await Pipeline.compose(record, keep, *others).run(program.services.turn("go", session_id="s"))
    with pytest.raises(TurnAlreadyRun, match="has ended"):
        await program.resume(json.dumps(states[0]))
    assert program.launched.total() == 1


@pytest.mark.parametrize("chain", ["twelve", "without a record of the end"])
async def test_a_state_that_led_to_another_suspension_is_refused_and_the_newer_one_goes_on(
    new_store: NewStore, chain: str
) -> None:
    program = Program(await new_store(), chain=chain)
    state = await program.suspend()
    again = program.services.restore(json.loads(state))
    assert (await program.pipeline.run(again)).finish_reason == "suspended"
    newer = json.dumps(again.state())
    with pytest.raises(TurnAlreadyRun, match="suspended anew"):
        await program.resume(state)
    assert await program.resume(newer) == "done"
    assert program.launched.total() == 1


async def test_a_turn_that_failed_after_it_was_restored_has_ended(new_store: NewStore) -> None:
    program = Program(await new_store())
    state = await program.suspend()

    async def fail(request: ModelRequest) -> str:
        raise ModelError("out of order")

    broken = Services(models=FunctionModel(fail), store=program.services.store, approvals=program,
                      tools=[each for each in program.services.registry.tools if each.name == "launch"])  # fmt: skip
    program.decision = Decision.approve()
    with pytest.raises(ModelError):
        await twelve(broken).run(broken.restore(json.loads(state)))
    with pytest.raises(TurnAlreadyRun, match="has ended"):
        await program.resume(state)
    assert program.launched.total() == 1


KILLED = """
import asyncio, json, os, sys
from pathlib import Path
from sophon import Decision, Risk, Services, tool
from sophon_hosting.store.factory import host_store_from_url
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve

@tool(risk=Risk.HIGH)
async def launch(what: str) -> str:
    "Launch it."
    open(sys.argv[3], "a").write("launched ")
    return "off it goes"

class Gate:
    async def request(self, request):
        return Decision.approve()

async def main():
    async def answer(request):
        os.kill(os.getpid(), 9)
    clock = VirtualClock()
    store = host_store_from_url(sys.argv[1], folder=Path(), clock=clock)
    services = Services(models=FunctionModel(answer), tools=[launch], approvals=Gate(), store=store, clock=clock)
    async with services:
        await twelve(services).run(services.restore(json.load(open(sys.argv[2]))))

asyncio.run(main())
"""


async def test_after_a_kill_in_the_middle_the_same_state_goes_on_and_no_finished_call_runs_again(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    clock = VirtualClock()
    store = host_store_from_url(url, folder=tmp_path, clock=clock)
    await store.open()
    program = Program(store)
    program.services.clock = clock
    (tmp_path / "state.json").write_text(await program.suspend())
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    told = tmp_path / "told"
    killed = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, str(script), url, str(tmp_path / "state.json"), str(told)],
        env=dict(os.environ),
        check=False,
    )
    assert killed.returncode == -9
    assert told.read_text() == "launched "
    assert await program.resume((tmp_path / "state.json").read_text()) == "done"
    assert not program.launched
    await store.close()


def user() -> SessionRecord:
    return SessionRecord("message", "r", Message("user", "go"))


@pytest.mark.parametrize(
    ("records", "noted", "progress"),
    [
        ([], "", Progress()),
        ([user()], "", Progress()),
        ([user(), SessionRecord("suspended", "r")], "", Progress()),
        ([user(), SessionRecord("suspended", "r", data={"resumes": 2})], "", Progress(resumes=2)),
        ([user(), SessionRecord("message", "r", Message("assistant", "done"))], "", Progress(is_ended=True)),
        ([user(), SessionRecord("failed", "r")], "", Progress(is_ended=True)),
        ([user(), SessionRecord("refused", "r")], "", Progress(is_ended=True)),
        ([], "3", Progress(resumes=3)),
        ([], "ended", Progress(is_ended=True)),
    ],
)
def test_how_far_a_turn_has_come_follows_from_its_records(
    records: list[SessionRecord], noted: str, progress: Progress
) -> None:
    assert read_progress(records, noted) == progress
