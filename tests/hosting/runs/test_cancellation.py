"""Cancelling: durable, at once, whatever state the run is in; nothing starts after it."""

import asyncio

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.errors import NotFound
from sophon.events import ApprovalResolved, TaskCancelled, ToolCallStarted
from sophon.stores.contract import Store
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host import Host, RunRequest
from sophon_middlewares.chains import twelve


async def test_a_queued_task_ends_without_having_begun(world, host: Host) -> None:
    await host.pause()
    receipt = await world.send(host, "hello")
    run = await host.cancel(receipt.task_id)
    await host.resume()
    await world.ended(await world.send(host, "next"))
    assert (run.status, run.starts) == ("cancelled", 0)
    records = await world.store.sessions.list_records("s")
    assert [(record.kind, record.data) for record in records[:1]] == [("cancelled", {"text": "hello"})]
    assert await world.said("s") == ["next", "NEXT"]
    assert len(world.events.of(TaskCancelled)) == 1


async def test_a_running_tool_is_stopped_and_nothing_starts_after_it(world, host: Host) -> None:
    receipt = await world.send(host, "Stall here")

    async def begun() -> bool:
        return world.begun == ["here"]

    await world.until(begun)
    run = await host.cancel(receipt.task_id)
    assert run.status == "cancelled"
    world.release.set()
    await world.ended(await world.send(host, "next"))
    assert len(world.events.of(ToolCallStarted)) == 1
    assert len(world.events.of(TaskCancelled)) == 1
    kinds = [record.kind for record in await world.store.sessions.list_records("s") if record.run_id == receipt.task_id]
    assert kinds == ["message", "message", "message", "cancelled"]


async def test_a_suspended_task_ends_and_frees_its_session(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    later = await world.send(host, "hello")
    assert (await host.cancel(receipt.task_id)).status == "cancelled"
    assert (await world.ended(later)).status == "completed"
    assert world.paid == []
    assert (await world.store.approvals.list()) == []
    assert [event.approval_id for event in world.events.of(ApprovalResolved)] == [approval]


async def test_what_a_running_turn_still_asks_is_withdrawn(world, host: Host) -> None:
    receipt = await world.send(host, "Both")

    async def asked_and_begun() -> bool:
        return world.begun == ["here"] and len(await world.store.approvals.list()) == 1

    await world.until(asked_and_begun)
    assert (await host.cancel(receipt.task_id)).status == "cancelled"
    assert (await world.store.approvals.list(), world.paid) == ([], [])


async def test_one_that_is_over_keeps_its_outcome(world, host: Host) -> None:
    receipt = await world.send(host, "hello")
    before = await world.ended(receipt)
    assert (await host.cancel(receipt.task_id)).status == before.status == "completed"


async def test_of_many_who_cancel_at_once_all_are_told_and_one_is_recorded(world, host: Host) -> None:
    receipt = await world.send(host, "wait a")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    runs = await asyncio.gather(*(host.cancel(receipt.task_id) for _ in range(5)))
    assert {run.status for run in runs} == {"cancelled"}
    assert len(world.events.of(TaskCancelled)) == 1
    kinds = [record.kind for record in await world.store.sessions.list_records("s")]
    assert kinds == ["message", "cancelled"]


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_at_any_moment_it_has_one_outcome(world, host: Host, turns: int) -> None:
    receipt = await world.send(host, "Pay Bob")
    for _ in range(turns):
        await asyncio.sleep(0)
    run = await host.cancel(receipt.task_id)
    await world.ended(await world.send(host, "next"))
    assert run.status == "cancelled"
    ends = [record.kind for record in await world.store.sessions.list_records("s") if record.kind == "cancelled"]
    assert (ends, len(world.events.of(TaskCancelled)), world.paid) == (["cancelled"], 1, [])


async def test_an_unknown_task_is_said_to_be_none(host: Host) -> None:
    with pytest.raises(NotFound):
        await host.cancel("nothing")


async def test_a_cancel_that_a_dead_process_had_noted_is_carried_out(world) -> None:
    first = world.host()
    receipt = await world.send(first, "hello")
    await world.store.runs.request_cancel(receipt.task_id)
    await world.host().start()
    assert (await world.run(receipt)).status == "cancelled"


async def test_a_tool_that_swallows_the_cancel_starts_nothing_more(store: Store, clock: VirtualClock) -> None:
    begun, asked = asyncio.Event(), []

    @tool()
    async def stubborn() -> str:
        """Does not let itself be stopped."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "I went on"
        return "never"

    async def answer(request: ModelRequest) -> str | ModelResponse:
        asked.append(request.messages[-1].role)
        return "done" if asked[-1] == "tool" else ModelResponse("", [ToolCall("c", "stubborn", {})])

    model, quiet = FunctionModel(answer), {"Planning": {"Mode": "Never"}}
    services = Services(models=model, tools=[stubborn], store=store, clock=clock, settings=quiet)
    host = Host(services, twelve(services))
    await host.start()
    receipt = await host.accept(RunRequest("go", "s", "ada"))
    await begun.wait()
    run = await host.cancel(receipt.task_id)
    await host.shutdown()

    assert run.status == "cancelled"
    assert asked == ["user"]
