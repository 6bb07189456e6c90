"""Replay of a turn: another model or chain answers, and nothing else happens."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, Usage, tool
from sophon.errors import BadRequest, InputError, NotFound
from sophon.principals import LOCAL_USER
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.traces.replay.comparison import compare
from sophon_hosting.features.traces.replay.recorded_turn import load_recorded_turn
from sophon_hosting.features.traces.replay.turn_replay import (
    NOT_RUN,
    InertToolbox,
    RecordedResults,
    ReplayedTurn,
    ReplayRequest,
    replay_turn,
)
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import CHAINS

USAGE_TABLES = frozenset({"attempts", "spending"})
"""Tables of what model calls have used, which is charged."""

ran: list[str] = []
"""Calls of the tools that really ran."""


@tool(risk=Risk.LOW)
async def weather(city: str) -> str:
    """Tell the weather in a city."""
    ran.append(city)
    return f"{city}: sun"


@tool(risk=Risk.CRITICAL)
async def launch(target: str) -> str:
    """Launch something."""
    ran.append(target)
    return "launched"


def calling(name: str, **arguments: Any) -> ModelResponse:
    return ModelResponse(tool_calls=[ToolCall("c", name, arguments)], usage=Usage(10, 5))


class Models:
    """Two models: `first` asks for the weather in Rome; what `second` calls a test chooses."""

    def __init__(self) -> None:
        self.second_calls = calling("weather", city="Rome")
        self.error: Exception | None = None
        self.requests: list[ModelRequest] = []

    async def first(self, request: ModelRequest) -> ModelResponse:
        last = request.messages[-1]
        return (
            ModelResponse(f"first read {last.content}", usage=Usage(20, 5))
            if last.role == "tool"
            else calling("weather", city="Rome")
        )

    async def second(self, request: ModelRequest) -> ModelResponse:
        self.requests.append(request)
        if self.error is not None:
            raise self.error
        last = request.messages[-1]
        return (
            ModelResponse(f"second read {last.content}", usage=Usage(20, 5))
            if last.role == "tool"
            else self.second_calls
        )


@pytest.fixture
def models() -> Models:
    return Models()


@pytest.fixture
async def services(models: Models, tmp_path: Path) -> AsyncIterator[Services]:
    ran.clear()
    made = Services(
        models=[
            FunctionModel(models.first, name="first", prices=(1, 1)),
            FunctionModel(models.second, name="second", prices=(1, 1)),
        ],
        tools=[weather, launch],
        store=host_store_from_url(f"sqlite:///{tmp_path}/replay.db", folder=tmp_path),
        settings={"Guards": {"Snapshot": {"Enabled": True}, "Audit": {"Enabled": True}}},
        folder=tmp_path,
    )
    async with made:
        yield made


async def run_turns(services: Services) -> str:
    """Run two turns in a session and return the id of the first."""
    chain = build_pipelines(services)
    first = services.turn("weather in Rome?", session_id="s", principal=LOCAL_USER)
    await chain.run(first)
    await chain.run(services.turn("and now?", session_id="s", principal=LOCAL_USER))
    return first.run_id


async def replay(services: Services, run_id: str, **request: str) -> ReplayedTurn:
    return await replay_turn(services, await load_recorded_turn(services.store, run_id), ReplayRequest(**request))


def dump(database: Path) -> dict[str, list[Any]]:
    """Return all rows of the database, except those that count usage."""
    with closing(sqlite3.connect(database)) as opened:
        tables = [name for (name,) in opened.execute("select name from sqlite_master where type = 'table'")]
        return {
            name: opened.execute(f"select * from {name} order by 1").fetchall()
            for name in tables
            if name not in USAGE_TABLES
        }


def list_files(folder: Path) -> set[Path]:
    return {each for each in folder.rglob("*") if not each.name.startswith("replay.db")}


async def count_tokens(services: Services, session_id: str | None = None) -> int:
    return sum(each.usage.total_tokens for each in await services.store.usage.list_totals(session_id=session_id))


async def test_a_replay_with_another_model_reuses_the_recorded_results(services: Services) -> None:
    run_id = await run_turns(services)
    ran.clear()
    replayed = await replay(services, run_id, model="second")
    assert replayed.answer == "second read Rome: sun"
    assert (replayed.reused, replayed.missing, ran) == (1, 0, [])


async def test_a_call_that_was_not_recorded_does_not_run(services: Services, models: Models) -> None:
    run_id = await run_turns(services)
    ran.clear()
    for models.second_calls in (calling("weather", city="Oslo"), calling("launch", target="it")):
        replayed = await replay(services, run_id, model="second")
        assert replayed.answer == f"second read {NOT_RUN}"
        assert (replayed.reused, replayed.missing, ran) == (0, 1, [])
    assert replayed.asked == ("launch",)


@pytest.mark.parametrize("chain", sorted(CHAINS))
async def test_no_chain_runs_a_tool(services: Services, models: Models, chain: str) -> None:
    run_id = await run_turns(services)
    ran.clear()
    models.second_calls = calling("launch", target="it")
    replayed = await replay(services, run_id, model="second", chain=chain)
    assert replayed.trace.status == "completed", replayed.trace.error
    assert ran == []


async def test_a_replay_changes_nothing_but_the_usage(services: Services, models: Models, tmp_path: Path) -> None:
    run_id = await run_turns(services)
    models.second_calls = calling("launch", target="it")
    before, files, spent = dump(tmp_path / "replay.db"), list_files(tmp_path), await count_tokens(services)
    averages = services.learning.router.averages
    known = {name: str(vars(averages)[name]) for name in vars(averages)}
    for chain in CHAINS:
        await replay(services, run_id, model="second", chain=chain)
    after = dump(tmp_path / "replay.db")
    assert {name for name in after if after[name] != before[name]} == set()
    assert before["turn_traces"]
    assert list_files(tmp_path) == files
    assert {name: str(vars(averages)[name]) for name in vars(averages)} == known
    assert await count_tokens(services) > spent
    assert await count_tokens(services, "s") == spent


async def test_a_replay_reads_what_was_before_the_turn(services: Services, models: Models) -> None:
    run_id = await run_turns(services)
    await replay(services, run_id, model="second")
    assert [each.content for each in models.requests[0].messages if each.role == "user"] == ["weather in Rome?"]


async def test_a_tool_that_comes_during_the_turn_is_inert_too(services: Services) -> None:
    turn = await load_recorded_turn(services.store, await run_turns(services))
    ran.clear()
    toolbox = InertToolbox([], RecordedResults(turn.calls))
    toolbox.replace("a skill", [launch])
    toolbox.add(weather)
    assert await toolbox.registry.find("launch").invoke({"target": "it"}, None) == NOT_RUN
    assert await toolbox.registry.find("weather").invoke({"city": "Rome"}, None) == "Rome: sun"
    assert ran == []


async def test_a_failing_replay_says_why(services: Services, models: Models) -> None:
    run_id = await run_turns(services)
    models.error = BadRequest("no such parameter", provider="second")
    replayed = await replay(services, run_id, model="second")
    assert (replayed.trace.status, replayed.trace.error["code"]) == ("failed", "bad_request")
    compared = compare(await load_recorded_turn(services.store, run_id), replayed)
    assert compared["original"]["answer"] == "first read Rome: sun"
    assert compared["replay"]["finish_reason"] == "error"


async def test_a_spent_budget_refuses_a_replay(services: Services, models: Models) -> None:
    run_id = await run_turns(services)
    limited = Services(
        models=services.gateway.providers,
        tools=[weather],
        store=services.store,
        settings={"Budget": {"Providers": {"*": {"DailyTokens": 10}}}},
        clock=services.clock,
    )
    replayed = await replay(limited, run_id, model="second")
    assert (replayed.finish_reason, models.requests) == ("budget_exceeded", [])


async def test_a_replay_that_takes_too_long_is_stopped(models: Models) -> None:
    clock, is_recorded = VirtualClock(), False

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if is_recorded:
            await clock.sleep(100 * 3600)
        return await models.first(request)

    store = SqlHostStore("memory://")
    async with Services(models=FunctionModel(answer), tools=[weather], clock=clock, store=store) as services:
        run_id = await run_turns(services)
        is_recorded = True
        replayed = await replay(services, run_id)
    assert replayed.trace.error["code"] == "replay_timeout"


async def test_what_cannot_be_replayed_is_refused(services: Services) -> None:
    run_id = await run_turns(services)
    with pytest.raises(NotFound, match="chain"):
        await replay(services, run_id, chain="mine")
    with pytest.raises(NotFound):
        await replay(services, run_id, model="gpt-0")
    with pytest.raises(NotFound):
        await load_recorded_turn(services.store, "unknown")
    trace = await services.store.traces.find(run_id)
    assert trace is not None
    await services.store.sessions.delete("s")
    await services.store.traces.add([trace])
    with pytest.raises(InputError, match="no longer stored"):
        await load_recorded_turn(services.store, run_id)
