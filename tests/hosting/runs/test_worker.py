"""The worker: lanes, places, limits, failures, and its controls."""

import asyncio

from sophon import Context, Next, Pipeline, Response
from sophon.events import Message, TaskCompleted, TaskFailed
from sophon_hosting.host import Host
from sophon_middlewares import AgenticLoop, Budget, CapabilityRouting, LlmInvoker, SessionEvents, ToolExecution


async def test_a_session_answers_in_order_and_no_turn_reads_a_later_message(world, host: Host) -> None:
    receipts = [await world.send(host, f"m{number}") for number in range(5)]
    for receipt in receipts:
        await world.ended(receipt)
    assert await world.said("s") == [text for number in range(5) for text in (f"m{number}", f"M{number}")]


async def test_sessions_run_side_by_side_up_to_the_limit(world, host: Host) -> None:
    receipts = [await world.send(host, f"wait {session}", session) for session in "abcd"]

    async def three() -> bool:
        return len(world.begun) == 3

    await world.until(three)
    assert (await world.run(receipts[3])).status == "queued"
    world.release.set()
    assert [(await world.ended(receipt)).status for receipt in receipts] == ["completed"] * 4


async def test_three_suspended_turns_leave_the_places_free(world, host: Host) -> None:
    waiting = [await world.send(host, "Pay Bob", session) for session in "abc"]
    for receipt in waiting:
        await world.status(receipt, "suspended")
    assert (await world.ended(await world.send(host, "hello", "d"))).status == "completed"
    assert world.paid == []


async def test_what_comes_after_a_suspended_turn_waits_for_it(world, host: Host) -> None:
    asking = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, asking)
    later = await world.send(host, "hello")
    await world.ended(await world.send(host, "other", "t"))
    assert (await world.run(later)).status == "queued"
    await host.approvals.decide(approval, world.approve, "ada")
    await world.ended(later)
    assert await world.said("s") == ["Pay Bob", "Done: paid Bob", "hello", "HELLO"]


async def test_a_failure_is_the_outcome_and_the_session_goes_on(world, host: Host) -> None:
    failing, next_one = await world.send(host, "fail now"), await world.send(host, "hello")
    run = await world.ended(failing)
    assert run.status == "failed"
    assert run.error is not None
    assert "the model broke" in run.error.message
    assert (await world.ended(next_one)).status == "completed"
    records = await world.store.sessions.list_records("s")
    assert [record.kind for record in records if record.run_id == failing.task_id] == ["message", "failed"]
    assert len(world.events.of(TaskFailed)) == 1


async def test_a_turn_without_end_fails_with_timeout(world) -> None:
    host = world.host({"AgentExecution": {"MaxExecutionTime": "00:01:00"}})
    await host.start()
    receipt = await world.send(host, "wait forever")

    async def begun() -> bool:
        return world.begun == ["forever"]

    await world.until(begun)
    await world.clock.advance(61)
    run = await world.ended(receipt)
    assert run.error is not None
    assert (run.status, run.error.code) == ("failed", "timeout")

    async def told() -> bool:  # the event leaves after the outcome is stored
        return bool(world.events.of(TaskFailed))

    await world.until(told)
    assert [event.error["code"] for event in world.events.of(TaskFailed)] == ["timeout"]
    kinds = [record.kind for record in await world.store.sessions.list_records("s")]
    assert kinds == ["message", "failed"]


async def test_with_the_defaults_a_turn_sums_up_before_its_two_hours_are_over(world) -> None:
    async def work(ctx: Context, next: Next) -> None:
        world.begun.append("work")
        await world.release.wait()
        await next(ctx)

    inner = (AgenticLoop(), ToolExecution(), LlmInvoker())
    chain = Pipeline.compose(SessionEvents(), Budget(), CapabilityRouting(), work, *inner)
    host = world.host(chain=lambda services: chain)
    await host.start()
    receipt = await world.send(host, "hello")

    async def begun() -> bool:
        return world.begun == ["work"]

    await world.until(begun)
    await world.clock.advance(6901)
    world.release.set()
    run = await world.ended(receipt)
    assert (run.status, run.response["finish_reason"]) == ("completed", "max_iterations")
    assert run.response["detail"]["limit"] == "AgentExecution.MaxExecutionTime"


async def test_with_the_defaults_a_call_that_never_returns_is_stopped_after_two_hours(world, host: Host) -> None:
    for provider in host.services.gateway.providers:  # whose own limit would end the call before
        provider.attempt_timeout_seconds = 8000
    receipt = await world.send(host, "wait forever")

    async def begun() -> bool:
        return world.begun == ["forever"]

    await world.until(begun)
    await world.clock.advance(7199)
    assert (await world.run(receipt)).status == "running"
    await world.clock.advance(1)
    run = await world.ended(receipt)
    assert (run.status, run.error.code) == ("failed", "timeout")
    assert "2:00:00 of work (AgentExecution.MaxExecutionTime)" in run.error.message


async def test_waiting_for_a_person_is_not_time_at_work(world) -> None:
    host = world.host({"AgentExecution": {"MaxExecutionTime": "00:01:00"}})
    await host.start()
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    await world.clock.advance(120)
    await host.approvals.decide(approval, world.approve, "ada")
    assert (await world.ended(receipt)).status == "completed"


async def test_paused_it_accepts_and_begins_nothing(world, host: Host) -> None:
    await host.queue.pause()
    receipt = await world.send(host, "hello")
    for _ in range(20):
        await asyncio.sleep(0)
    assert (await world.run(receipt)).status == "queued"
    await host.queue.resume()
    assert (await world.ended(receipt)).status == "completed"


async def test_drained_it_waits_for_what_runs(world, host: Host) -> None:
    receipt = await world.send(host, "wait a")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    draining = asyncio.create_task(host.queue.drain())
    later = await world.send(host, "hello", "t")
    world.release.set()
    assert await draining
    assert ((await world.run(receipt)).status, (await world.run(later)).status) == ("completed", "queued")


async def test_a_chain_without_session_events_has_its_outcome_too(world) -> None:
    async def echo(ctx, next):
        ctx.response = Response(text=ctx.text, finish_reason="stop")

    host = world.host(chain=lambda services: Pipeline.compose(echo))
    await host.start()
    receipt = await world.send(host, "hello")
    run = await world.ended(receipt)
    assert run.response is not None
    assert (run.status, run.response["text"]) == ("completed", "hello")
    await world.rest(host)
    assert len(world.events.of(TaskCompleted)) == 1


async def test_events_leave_after_the_outcome_is_stored(world, host: Host) -> None:
    receipt = await world.send(host, "hello")
    await world.ended(receipt)
    await world.rest(host)
    records = await world.store.sessions.list_records("s")
    assert [event.message_id for event in world.events.of(Message)] == [f"s:{record.seq}" for record in records]
