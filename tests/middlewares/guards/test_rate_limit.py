"""RateLimit: how often tools may be used, what the model is told, and what counts."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from sophon import Decision, Risk, ToolCall, tool
from sophon.errors import SettingsError, StoreError
from sophon.security.sliding_windows import RateExceeded
from sophon.security.sliding_windows import RateLimit as Limit
from sophon.settings import Settings
from sophon.stores import InMemoryStore
from sophon.testing import VirtualClock
from sophon_middlewares.guards.rate_limit import RateLimit, find_limits, judge_exceeded
from tests.middlewares.guards.conftest import GuardedTurn
from tests.tables import table

ran: list[str] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    ran.clear()


@pytest.fixture
def limited(turn: GuardedTurn) -> GuardedTurn:
    """Turns of one host, on a clock that the test moves, whose store outlives them."""
    turn.clock = VirtualClock(auto=False)
    turn.store = InMemoryStore(clock=turn.clock)
    return turn


@tool(risk=Risk.LOW)
async def look(name: str = "") -> str:
    """Look."""
    ran.append(name)
    return "seen"


@tool(risk=Risk.MEDIUM)
async def note(name: str = "") -> str:
    """Note."""
    ran.append(name)
    return "noted"


@tool(risk=Risk.HIGH)
async def pay(name: str = "") -> str:
    """Pay."""
    ran.append(name)
    return "paid"


@tool(risk=Risk.CRITICAL)
async def wipe(name: str = "") -> str:
    """Wipe."""
    ran.append(name)
    return "wiped"


TOOLS = [look, note, pay, wipe]
LEVELS = {"note": "controlled", "pay": "restricted", "wipe": "privileged"}


def calls(name: str, count: int) -> list[ToolCall]:
    return [ToolCall(f"{name}{number}", name, {"name": str(number)}) for number in range(count)]


def limits(**settings: Any) -> dict[str, Any]:
    return {"Guards": {"RateLimit": settings}}


async def use(turn: GuardedTurn, requested: Sequence[ToolCall], principal: str = "ann") -> list[str]:
    """Run the calls in a turn of a host that has used tools before."""
    windows = turn.services.security.rate_windows
    ctx = turn.build(requested, tools=TOOLS, principal=principal)
    turn.services.security = replace(turn.services.security, rate_windows=windows)
    await turn.chain(RateLimit()).run(ctx)
    return [message.content for message in ctx.messages if message.role == "tool"]


async def use_after_restart(turn: GuardedTurn, requested: Sequence[ToolCall]) -> list[str]:
    return await turn.run([RateLimit()], requested, tools=TOOLS, principal="ann")


@pytest.mark.parametrize(("name", "allowed"), [("note", 100), ("pay", 30), ("wipe", 20)])
async def test_the_published_limits_of_a_level_hold_by_default(limited: GuardedTurn, name: str, allowed: int) -> None:
    for _ in range(allowed // 10):
        assert not any("blocked" in each for each in await use(limited, calls(name, 10)))
    [result] = await use(limited, calls(name, 1))
    level = LEVELS[name]
    assert result == (
        f"blocked by RateLimit (level_{level}): {name}, a tool of the level {level}, may be used {allowed} times per "
        "hour, and that is reached; possible again in 3600 seconds, at 01:00:00 UTC"
    )
    assert len(ran) == allowed


async def test_calls_that_a_person_has_approved_do_not_use_up_the_limit_of_the_level(limited: GuardedTurn) -> None:
    limited.gate.decision = Decision.approve(decided_by="ann")
    for _ in range(4):
        assert await use(limited, calls("pay", 10)) == ["paid"] * 10


async def test_the_model_hears_of_a_limit_before_it_is_reached(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Controlled": 5})
    results = await use(limited, calls("note", 5))
    assert results == [
        *["noted"] * 3,
        "noted\n\nnote: note, a tool of the level controlled, may be used 5 times per hour; 1 are left",
        "noted\n\nnote: note, a tool of the level controlled, may be used 5 times per hour; 0 are left",
    ]


async def test_a_tool_of_low_risk_has_no_limit_of_its_level(limited: GuardedTurn) -> None:
    for _ in range(20):
        await use(limited, calls("look", 10))
    assert len(ran) == 200


async def test_a_call_is_possible_again_exactly_an_hour_later(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Controlled": 1})
    await use(limited, calls("note", 1))
    assert isinstance(limited.clock, VirtualClock)
    await limited.clock.advance(3599.5)
    [result] = await use(limited, calls("note", 1))
    assert "possible again in 1 second, at" in result
    await limited.clock.advance(0.5)
    assert await use(limited, calls("note", 1)) == ["noted"]


async def test_a_cool_down_states_the_seconds_that_are_left(limited: GuardedTurn) -> None:
    limited.settings = limits(Tools={"look": {"Cooldown": "00:00:10"}})
    await use(limited, calls("look", 1))
    assert isinstance(limited.clock, VirtualClock)
    await limited.clock.advance(3)
    [result] = await use(limited, calls("look", 1))
    assert result.startswith(
        "blocked by RateLimit (cooldown): look may be used once in 10 seconds, and that is reached; possible again "
        "in 7 seconds, at"
    )
    assert await use(limited, calls("look", 1), principal="bob") == ["seen"]
    await limited.clock.advance(7)
    assert await use(limited, calls("look", 1)) == ["seen"]


async def test_a_tools_own_limit_replaces_that_of_its_level(limited: GuardedTurn) -> None:
    limited.settings = limits(Tools={"note": {"PerHour": 101}, "look": {"PerHour": 1}})
    results = await use(limited, [*calls("note", 101), *calls("look", 2)])
    assert sum(each.startswith("noted") for each in results) == 101
    assert [each.partition(":")[0] for each in results[101:]] == ["seen", "blocked by RateLimit (tool_limit)"]


async def test_the_limit_of_all_calls_comes_first_and_is_for_all_people(limited: GuardedTurn) -> None:
    limited.settings = limits(CallsPerMinute=2, Tools={"look": {"PerHour": 2}})
    await use(limited, calls("look", 2))
    [result] = await use(limited, calls("look", 1))
    assert "(all_calls): all tools together may be used 2 times per minute" in result
    [result] = await use(limited, calls("note", 1), principal="bob")
    assert "(all_calls)" in result
    assert await use(limited, [ToolCall("c", "calculate", {"expression": "1+1"})], principal="bob") != [result]


async def test_the_limit_of_a_person_is_for_all_their_tools_and_not_for_others(limited: GuardedTurn) -> None:
    limited.settings = limits(PersonCallsPerMinute=2)
    await use(limited, [*calls("look", 1), *calls("note", 1)])
    [result] = await use(limited, calls("look", 1))
    assert "(person_calls): all tools of a person together may be used 2 times per minute" in result
    assert await use(limited, calls("look", 1), principal="bob") == ["seen"]
    await limited.clock.advance(60)  # type: ignore[attr-defined]
    assert await use(limited, calls("look", 1)) == ["seen"]


async def test_parallel_calls_and_turns_cannot_exceed_a_limit_together(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Restricted": 5})
    results: list[str] = []

    async def run_turn() -> None:
        results.extend(await use(limited, calls("pay", 4)))

    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(run_turn)
    assert (sum(each.startswith("paid") for each in results), len(ran)) == (5, 5)


async def test_nobody_is_asked_about_a_call_beyond_a_limit(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Restricted": 1})
    await use(limited, calls("pay", 3))
    assert [each.call_id for each in limited.gate.asked] == ["pay0"]
    assert limited.verdicts() == [(f"pay{n}", "RateLimit", "block", "level_restricted") for n in (1, 2)]


async def test_a_call_that_a_person_rejects_does_not_count(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Restricted": 1})
    limited.gate.decision = Decision.reject("no")
    await use(limited, calls("pay", 1))
    limited.gate.decision = Decision.approve()
    assert await use(limited, calls("pay", 1)) == ["paid"]


async def test_a_turn_that_waits_for_a_person_counts_once_when_it_is_resumed(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Restricted": 1})
    limited.gate.decision = Decision.suspend()
    ctx = limited.build(calls("pay", 1), tools=TOOLS, principal="ann")
    assert (await limited.chain(RateLimit()).run(ctx)).finish_reason == "suspended"
    limited.gate.decision = Decision.approve()
    await limited.chain(RateLimit()).run(limited.services.restore(ctx.state()))
    assert ran == ["0"]
    assert "level_restricted" in (await use(limited, calls("pay", 1)))[0]


async def test_a_restart_keeps_the_windows(limited: GuardedTurn) -> None:
    limited.settings = limits(Levels={"Controlled": 2}, Tools={"look": {"Cooldown": "00:01:00"}})
    await use_after_restart(limited, [*calls("note", 1), *calls("look", 1)])
    assert isinstance(limited.clock, VirtualClock)
    await limited.clock.advance(20)
    results = await use_after_restart(limited, [*calls("note", 2), *calls("look", 1)])
    assert results[0] == "noted"
    assert "possible again in 3580 seconds" in results[1]
    assert "possible again in 40 seconds" in results[2]


class BrokenWindows:
    def __init__(self, operation: str) -> None:
        self._operation = operation

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        if self._operation == "load":
            raise StoreError("store", "it is broken")
        return []

    async def add(self, events: object) -> None:
        raise StoreError("store", "it is broken")


@pytest.mark.parametrize(
    ("operation", "message"), [("load", "blocked by RateLimit (guard_failed)"), ("add", "blocked: the check before it")]
)
async def test_a_store_that_fails_blocks_the_call(limited: GuardedTurn, operation: str, message: str) -> None:
    assert isinstance(limited.store, InMemoryStore)
    limited.store.rate_windows = BrokenWindows(operation)  # type: ignore[assignment]
    [result] = await use(limited, calls("note", 1))
    assert result.startswith(message)
    assert ran == []


async def test_without_the_guard_nothing_is_limited(limited: GuardedTurn) -> None:
    limited.settings = limits(CallsPerMinute=1, Levels={"Restricted": 1})
    assert await limited.run([], calls("pay", 3), tools=TOOLS) == ["paid"] * 3


def test_the_verdict_without_a_known_time_says_what_it_waits_for() -> None:
    found = judge_exceeded(
        RateExceeded(Limit("cooldown", "s", 1, 10.0, "look"), None), datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert found.reason.endswith("possible again once a call that is waiting or running has ended")


@table(
    ("settings", "risk", "rules"),
    [
        ({}, Risk.NONE, []),
        ({}, Risk.LOW, ["all_calls"]),
        ({}, Risk.CRITICAL, ["all_calls", "level_privileged"]),
        ({"CallsPerMinute": None}, Risk.LOW, []),
        ({"Tools": {"t": {"Cooldown": "00:00:01"}}}, Risk.HIGH, ["all_calls", "level_restricted", "cooldown"]),
        ({"Tools": {"t": {"Cooldown": "00:00:01", "PerHour": 1}}}, Risk.NONE, ["tool_limit", "cooldown"]),
        ({"PersonCallsPerMinute": 1}, Risk.LOW, ["all_calls", "person_calls"]),
        ({"PersonCallsPerMinute": 1}, Risk.NONE, []),
    ],
)
def test_which_limits_a_call_has(settings: dict[str, Any], risk: Risk, rules: list[str]) -> None:
    found = find_limits(Settings.from_mapping(limits(**settings)).guards.rate_limit, "t", risk, "ann")
    assert [each.rule for each in found] == rules


@table(
    ("settings", "problem"),
    [
        ({"Levels": {"Controlled": 0}}, "Guards.RateLimit.Levels.Controlled"),
        ({"Levels": {"Dangerous": 1}}, "Guards.RateLimit.Levels.Dangerous"),
        ({"Tools": {"look": {}}}, "limits nothing"),
        ({"Tools": {"look": {"Cooldown": "8.00:00:00"}}}, "at most 7 days"),
        ({"CallsPerMinute": "many"}, "Guards.RateLimit.CallsPerMinute"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        Settings.from_mapping(limits(**settings))
