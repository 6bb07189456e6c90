"""Questions of a running call: the turn is held and not suspended, for a bounded time, and no longer than the call."""

import asyncio
from typing import Any

import pytest

from sophon import Decision, ToolCall, tool
from sophon.approvals import ApprovalRequest
from sophon.context import Context
from sophon.events import ApprovalRequested, ApprovalResolved
from sophon.risk import Risk
from sophon.tools.running_call import RUNNING_CALL
from sophon.turn.in_call_questions import hold_question
from sophon_hosting.host import Host
from sophon_hosting.runs.approvals.approval_gate import HELD_CHECK_SECONDS
from sophon_hosting.runs.approvals.approval_service import DecisionRefused
from sophon_hosting.runs.queue_entries import build_queue_entry
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.runs.conftest import PATIENCE_SECONDS, World
from tests.refusing_writes import allow_writes, refuse_writes

HELD_SECONDS = 100.0


@tool(timeout_seconds=10)
async def stall(what: str, ctx: Context) -> str:
    """Ask the person in the middle of the call."""
    running = RUNNING_CALL.get()
    assert running is not None
    call = ToolCall(running.call_id, "stall", {"question": what})
    request = ApprovalRequest.from_call(call, ctx.run_id, Risk.NONE, kind="question", session_id=ctx.session_id)
    decision = await hold_question(ctx, request, running, HELD_SECONDS)
    return f"{decision.verdict}: {decision.reason}"


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    tools = [each for each in world.tools() if each.name != "stall"]
    monkeypatch.setattr(world, "tools", lambda: [*tools, stall])
    return world


async def ask(world: World, host: Host) -> tuple[Any, str]:
    """Begin a turn whose call asks, and wait until time is the person's; return its receipt and the question's id."""
    receipt = await world.send(host, "Stall where")

    async def is_asked() -> bool:
        return is_paused(world) and bool(await world.store.approvals.list())

    await world.until(is_asked)
    return receipt, (await world.store.approvals.list())[0].request.id


def is_paused(world: World) -> bool:
    """Return whether the time of a turn is the person's now."""
    turns = [running.ctx for each in world.hosts for running in each.active_runs]
    return any(ctx is not None and ctx.stopwatch._pauses for ctx in turns)


async def result(world: World, receipt: Any) -> str:
    run = await world.ended(receipt)
    assert run.response is not None
    return str(run.response["text"])


async def test_an_answer_goes_to_the_call_that_waits_and_resumes_nothing(world: World, host: Host) -> None:
    receipt, question = await ask(world, host)
    assert (await world.run(receipt)).status == "running"
    await host.approvals.decide(question, Decision.answer("here"), "ada")
    assert await result(world, receipt) == "Done: answer: here"
    run = await world.run(receipt)
    assert run.starts == 1
    assert await host.queue.find_missing([build_queue_entry(await world.store.runs.get(receipt.task_id))])
    assert len(world.events.of(ApprovalRequested)) == 1
    assert {each.decision for each in world.events.of(ApprovalResolved)} == {"answer"}


async def test_only_who_may_decide_answers(world: World, host: Host) -> None:
    receipt, question = await ask(world, host)
    with pytest.raises(Exception, match="there is no approval"):
        await host.approvals.decide(question, Decision.answer("mine"), "eve")
    with pytest.raises(DecisionRefused):
        await host.approvals.decide(question, Decision.approve(), "ada")
    await host.approvals.decide(question, Decision.reject("no"), "ada")
    assert await result(world, receipt) == "Done: reject: no"


async def test_the_wait_is_bounded_and_does_not_count_for_the_call(world: World, host: Host) -> None:
    receipt, question = await ask(world, host)
    await world.clock.advance(HELD_SECONDS - 1)  # the call itself may take ten seconds
    assert (await world.run(receipt)).status == "running"

    async def is_over() -> bool:
        if is_paused(world):  # again, because the wait may have begun after the first seconds had passed
            await world.clock.advance(2)
        return (await world.run(receipt)).is_finished

    await world.until(is_over)
    assert await result(world, receipt) == "Done: reject: nobody answered in time"
    record = await world.store.approvals.get(question)
    assert record.decision is not None
    with pytest.raises(DecisionRefused, match="before"):
        await host.approvals.decide(question, Decision.answer("late"), "ada")


async def test_a_decision_of_another_process_is_found(world: World, host: Host) -> None:
    receipt, question = await ask(world, host)
    await world.store.approvals.decide(question, Decision.answer("from afar", decided_by="ada"), world.clock.now())
    await world.clock.advance(HELD_CHECK_SECONDS)
    assert await result(world, receipt) == "Done: answer: from afar"


async def test_a_cancelled_turn_withdraws_its_question(world: World, host: Host) -> None:
    receipt, question = await ask(world, host)
    await host.cancel(receipt.task_id)
    assert (await world.ended(receipt)).status == "cancelled"
    record = await world.store.approvals.get(question)
    assert record.decision is not None
    assert record.decision.verdict == "reject"


async def test_after_a_restart_the_outcome_is_unknown_and_the_question_is_closed(world: World, host: Host) -> None:
    receipt, question = await ask(world, host)
    await host.shutdown(grace_seconds=0)
    later = world.host()
    await later.start()
    assert "whether it took effect is unknown" in await result(world, receipt)
    assert (await world.store.approvals.get(question)).decision is not None


async def test_a_question_that_a_killed_process_has_left_is_closed_by_the_next(
    world: World, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt, question = await ask(world, host)

    async def nothing(*_: object) -> Decision:
        return Decision.reject("")

    monkeypatch.setattr(host._gate, "_withdraw", nothing)  # a killed process writes nothing
    await host.shutdown(grace_seconds=0)
    assert (await world.store.approvals.get(question)).decision is None
    await world.host().start()
    await world.ended(receipt)
    assert (await world.store.approvals.get(question)).decision is not None


async def test_the_time_limit_of_a_run_stands_still_while_people_are_asked(world: World) -> None:
    host = world.host({"AgentExecution": {"MaxExecutionTime": "00:00:50"}})
    await host.start()
    receipt, question = await ask(world, host)
    await world.clock.advance(HELD_SECONDS - 1)
    await host.approvals.decide(question, Decision.answer("here"), "ada")
    assert await result(world, receipt) == "Done: answer: here"


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
async def test_while_the_question_cannot_be_stored_the_time_of_the_call_runs(world: World, host: Host) -> None:
    store, hold, ended = world.store, host._gate.hold, asyncio.Event()
    assert isinstance(store, SqlHostStore)

    async def refuse_first(*arguments: Any) -> Decision:
        await refuse_writes(store)
        try:
            return await hold(*arguments)
        finally:
            ended.set()

    host._gate.hold = refuse_first  # type: ignore[method-assign]
    receipt = await world.send(host, "Stall where")

    async def is_away() -> bool:
        return not store.health.is_available

    await world.until(is_away)
    await world.clock.advance(9)
    assert not ended.is_set()
    await world.clock.advance(2)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ended.wait()
    allow_writes(store)

    async def is_over() -> bool:
        await world.clock.advance(1)
        return (await world.run(receipt)).is_finished

    await world.until(is_over)
    assert "did not finish within 10 seconds" in await result(world, receipt)
    assert await store.approvals.list() == []
