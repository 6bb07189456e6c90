"""A turn is written out as plain data and read back whole: what suspend, resume and recovery share."""

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Context, Message, Risk, Services, ToolCall, ToolResult, Usage, tool
from sophon.approvals import Grant
from sophon.context import Step, Tally, TurnFacts, TurnState
from sophon.context.state import UsageCounts
from sophon.context.state_serialization import RECOMPUTED
from sophon.errors import StateError
from sophon.extensions import Key
from sophon.messages import Compaction
from sophon.testing import VirtualClock
from tests.tables import table

NOTE: Key[list[int]] = Key("note", dump=list, load=list)


@tool
async def one() -> str:
    """One."""
    return "1"


@tool
async def two() -> str:
    """Two."""
    return "2"


def services() -> Services:
    return Services(tools=[one, two], clock=VirtualClock(auto=False))


def again(ctx: Context, host: Services | None = None) -> Context:
    return (host or services()).restore(json.loads(json.dumps(ctx.state())))


CALL = ToolCall("c", "one", {"a": [1, {"b": None}]}, "torn")


def full() -> Context:
    """A turn in which every field that can be written out has a value."""
    ctx = services().turn("go", session_id="s", stream=True, model="offline", planning="never", principal="ada")
    ctx.channel, ctx.depth, ctx.step = "telegram", 1, Step("a", ("one",), "code", Risk.MEDIUM)
    ctx.messages = [
        Message("system", "Be brief."),
        Message("user", "go", origin="hint"),
        Message("assistant", "", [CALL]),
        Message("tool", "ok", tool_call_id="c"),
    ]
    ctx.mark_recorded(2)
    ctx.tools = [one]
    ctx.pending, ctx.results = [CALL], {"d": ToolResult("d", "two", "2", "denied", 7)}
    ctx.grants = {"c": Grant("digest", edited=True)}
    ctx.iteration, ctx.epoch = 3, 2
    ctx.tally = Tally(Usage(1, 2, 3, 4), UsageCounts.from_usage(Usage(5, 6, 7, 8)), 9, 10)
    ctx.tally.unrecorded = {("2026-01-31", "2026-01", "p", "m", "reply"): UsageCounts(2, 5, 6, 7, 8)}
    ctx.compaction = Compaction(Message("user", "summary", origin="compaction"), 1)
    ctx.put(NOTE, [1, 2])
    return ctx


# What comes back in another form, which the tests below show.
OTHERWISE = {"version", "tools", "extensions", "active_seconds", "resumes"}


@table("name", [name for name in full().state() if name not in OTHERWISE])
def test_every_field_of_a_turn_comes_back_as_it_was(name: str) -> None:
    ctx = full()
    assert getattr(again(ctx), name) == getattr(ctx, name)


def test_what_a_turn_is_offered_and_keeps_comes_back_too() -> None:
    back = again(full())
    assert [each.name for each in back.tools] == ["one"]
    assert back.get(NOTE) == [1, 2]
    assert back.resumed
    assert back.started_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_writing_out_what_was_read_back_gives_the_same_again() -> None:
    state = full().state()
    host = services()
    assert host.restore(json.loads(json.dumps(state))).state() == state


def test_what_lives_for_one_run_of_the_chain_is_set_up_anew() -> None:
    ctx = full()
    ctx.call_layers.append(lambda request, call: call(request))
    ctx.excluded_providers["p"], ctx.settling, ctx.streamed_chunks = "spent", True, ["x"]
    back = again(ctx)
    assert (back.call_layers, back.excluded_providers, back.settling, back.streamed_chunks) == ([], {}, False, [])
    assert (back.pipeline, back.meter, back.route, back.response) == (None, None, None, None)


async def test_the_time_at_work_goes_on() -> None:
    host = services()
    assert isinstance(host.clock, VirtualClock)
    ctx = host.turn("go")
    await host.clock.advance(5)
    state = ctx.state()
    await host.clock.advance(1000)

    back = host.restore(state)
    await host.clock.advance(2)

    assert back.stopwatch.seconds == 7


def test_a_turn_that_is_offered_everything_is_offered_everything_of_the_new_process() -> None:
    host = Services(tools=[one], clock=VirtualClock())
    back = again(services().turn("go"), host)
    assert back.tools is host.registry.tools


def test_a_tool_that_is_gone_is_left_out() -> None:
    ctx = services().turn("go")
    ctx.tools = [one, two]
    assert [each.name for each in again(ctx, Services(tools=[two])).tools] == ["two"]


def test_a_state_that_is_stored_later_does_not_change_with_the_turn() -> None:
    ctx = services().turn("go")
    state = ctx.snapshot()
    ctx.tally.capped_calls["one"] = 1
    assert state["tally"]["capped_calls"] == {}


def test_recorded_is_written_out_as_it_really_is() -> None:
    ctx = services().turn("go")
    ctx.mark_recorded(1)
    ctx.messages.insert(0, Message("system", "later"))
    assert again(ctx).count_recorded() == 2


def test_branches_and_steps_of_a_restored_turn_work_as_ever() -> None:
    back = again(full())
    branch, child = back.for_call(CALL), back.child("x", Step("b"))
    assert branch.grants is back.grants
    assert branch.pending == [CALL]
    assert child.run_id == f"{back.run_id}/b"
    assert not child.resumed
    assert child.tally is back.tally


@given(st.text(), st.text(), st.lists(st.text(), max_size=4), st.integers(0, 10**6))
def test_any_text_comes_back(text: str, session: str, said: list[str], iteration: int) -> None:
    ctx = services().turn(f"{text}.", session_id=f"{session}.")
    ctx.messages += [Message("assistant", each) for each in said]
    ctx.iteration = iteration
    back = again(ctx)
    assert (back.text, back.session_id, back.messages, back.iteration) == (
        ctx.text,
        ctx.session_id,
        ctx.messages,
        iteration,
    )


def without(name: str) -> Callable[[dict[str, Any]], Any]:
    return lambda state: {key: value for key, value in state.items() if key != name}


def having(**changes: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda state: {**state, **changes}


def test_a_ceiling_of_rounds_is_kept() -> None:
    state = services().turn("go", max_iterations=7).state()
    assert services().restore(state).max_iterations == 7


REQUIRED = [name for name in full().state() if name not in ("version", "compaction")]


@table(
    "spoil",
    [
        *(without(name) for name in REQUIRED),
        without("version"),
        having(version=99),
        having(run_id=5),
        having(depth=-1),
        having(depth=True),
        having(max_iterations="many"),
        having(max_iterations=True),
        having(stream="yes"),
        having(recorded="many"),
        having(started_at="yesterday"),
        having(step={"id": "a"}),
        having(step="a"),
        having(messages=[{"role": "wizard", "content": "x"}]),
        having(messages=[{"content": "x"}]),
        having(messages=["x"]),
        having(messages=None),
        having(messages=[{"role": "user", "content": 3}]),
        having(tools=3),
        having(pending=[{"id": "x"}]),
        having(results=[{}]),
        having(grants=[]),
        having(grants={"c": "digest"}),
        having(tally={}),
        having(active_seconds="long"),
        having(extensions=[1]),
        having(compaction={"covers": 1}),
        lambda state: [],
        lambda state: None,
        lambda state: "state",
    ],
)
def test_rubbish_is_refused_in_one_clear_line(spoil: Callable[[dict[str, Any]], Any]) -> None:
    state = json.loads(json.dumps(full().state()))
    with pytest.raises(StateError) as caught:
        services().restore(spoil(state))
    assert "\n" not in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_anything_in_place_of_a_part_is_read_or_refused_and_nothing_else(rubbish: Any) -> None:
    for name in REQUIRED:
        try:
            services_once.restore({**STATE, name: rubbish})
        except StateError:
            continue


services_once, STATE = services(), full().state()


def test_every_field_is_a_fact_serialised_recomputed_or_of_one_run_of_the_chain() -> None:
    """A new field must be given a place: forgotten state would be lost in a suspend, silently."""
    names = {each.name for each in dataclasses.fields(TurnState)}
    serialised = set(full().state()) - {"version", "active_seconds"}
    assert names >= RECOMPUTED
    assert serialised & RECOMPUTED == set()
    assert serialised | RECOMPUTED == names


def test_the_facts_of_a_turn_are_declared_final() -> None:
    assert all("Final" in str(each.type) for each in dataclasses.fields(TurnFacts))
