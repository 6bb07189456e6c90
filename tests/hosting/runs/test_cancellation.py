"""Cancelling: durable, at once, whatever state the run is in; nothing starts after it."""

import asyncio
from collections.abc import Callable

import pytest

from sophon import Context, Middleware, ModelRequest, ModelResponse, Next, Pipeline, Response, Services, ToolCall, tool
from sophon.errors import NotFound
from sophon.events import ApprovalResolved, TaskCancelled, TaskCompleted, TaskFailed, ToolCallStarted
from sophon.models.model import Call
from sophon.stores.contract import Store
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.chains import twelve


async def told_last(world, task_id: str) -> list[str]:
    """The last two events that the store has of a task."""
    return [each.name for each in await world.store.events.list_after("s", 0) if each.task_id == task_id][-2:]


async def test_a_queued_task_ends_without_having_begun(world, host: Host) -> None:
    await host.queue.pause()
    receipt = await world.send(host, "hello")
    run = await host.cancel(receipt.task_id)
    await host.queue.resume()
    await world.ended(await world.send(host, "next"))
    assert (run.status, run.starts) == ("cancelled", 0)
    records = await world.store.sessions.list_records("s")
    assert [(record.kind, record.data) for record in records[:1]] == [("cancelled", {"text": "hello"})]
    assert await world.said("s") == ["next", "NEXT"]
    assert len(world.events.of(TaskCancelled)) == 1


async def test_a_task_that_is_cancelled_in_the_moment_in_which_it_is_taken_ends(
    world, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    active_runs = host.active_runs
    add = active_runs.add

    def add_and_cancel(active_run: ActiveRun) -> None:
        add(active_run)
        asyncio.get_running_loop().call_soon(active_run.cancel)  # before the first step of the worker's task

    with monkeypatch.context() as patch:
        patch.setattr(active_runs, "add", add_and_cancel)
        receipt = await world.send(host, "hello")
        run = await world.ended(receipt)
    assert run.status == "cancelled"
    assert (await world.ended(await world.send(host, "next"))).status == "completed"
    assert world.events.of(TaskCancelled) != []


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
    assert await told_last(world, receipt.task_id) == ["approval_resolved", "task_cancelled"]


async def test_what_a_running_turn_still_asks_is_withdrawn(world, host: Host) -> None:
    receipt = await world.send(host, "Both")

    async def asked_and_begun() -> bool:
        return world.begun == ["here"] and len(await world.store.approvals.list()) == 1

    await world.until(asked_and_begun)
    assert (await host.cancel(receipt.task_id)).status == "cancelled"
    assert (await world.store.approvals.list(), world.paid) == ([], [])
    assert await told_last(world, receipt.task_id) == ["approval_resolved", "task_cancelled"]


async def test_what_it_asks_is_withdrawn_if_it_is_cancelled_while_the_store_answers(
    world, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = asyncio.Event()

    async def never_read(approval_id: str) -> None:
        stored.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(world.store.approvals, "get", never_read)  # how `get_or_create` ends
    receipt = await world.send(host, "Pay Bob")
    await stored.wait()
    monkeypatch.undo()
    assert len(await world.store.approvals.list()) == 1
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


async def test_at_any_moment_it_has_one_outcome(world, host: Host) -> None:
    for number, turns in enumerate(range(0, 60, 3), start=1):
        session = f"s{turns}"
        receipt = await world.send(host, "Pay Bob", session)
        for _ in range(turns):
            await asyncio.sleep(0)
        run = await host.cancel(receipt.task_id)
        await world.ended(await world.send(host, "next", session))
        assert run.status == "cancelled", turns
        records = await world.store.sessions.list_records(session)
        ends = [record.kind for record in records if record.kind == "cancelled"]
        assert (ends, len(world.events.of(TaskCancelled)), world.paid) == (["cancelled"], number, []), turns


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


async def swallow_with_response(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except asyncio.CancelledError:
        ctx.response = Response("all is well")


async def swallow_and_take_back(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()
        ctx.response = Response("all is well")


async def swallow_with_error(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except asyncio.CancelledError:
        raise ValueError("something else") from None


LIMITED = {"AgentExecution": {"MaxExecutionTime": "00:00:10"}}


def with_middleware(middleware: Middleware, *, recorded: bool, held=None) -> Callable[[Services], Pipeline]:
    async def hold(ctx: Context, next: Next) -> None:  # in front of the call, which ends while there is time to sum up
        if ctx.settling:
            held.begun.append("held")
            await held.release.wait()
        await next(ctx)

    def build(services: Services) -> Pipeline:
        chain = twelve(services)
        holding = [hold] if held else []
        return Pipeline.compose(*chain[: int(recorded)], middleware, *chain[1:-2], *holding, *chain[-2:])

    return build


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("swallowing", [swallow_with_response, swallow_and_take_back, swallow_with_error])
async def test_a_middleware_cannot_turn_a_cancel_into_another_outcome(
    world, swallowing: Middleware, recorded: bool
) -> None:
    host = world.host(chain=with_middleware(swallowing, recorded=recorded))
    await host.start()
    receipt = await world.send(host, "Stall here")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    assert (await host.cancel(receipt.task_id)).status == "cancelled"
    ends = [
        type(event) for event in world.events.events if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled)
    ]
    assert ends == [TaskCancelled]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("swallowing", [swallow_with_response, swallow_with_error])
async def test_a_middleware_cannot_turn_the_time_limit_into_another_outcome(
    world, swallowing: Middleware, recorded: bool
) -> None:
    host = world.host(LIMITED, chain=with_middleware(swallowing, recorded=recorded, held=world))
    await host.start()
    receipt = await world.send(host, "Stall here")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await world.clock.advance(11)
    run = await world.ended(receipt)
    assert run.status == "failed"
    assert run.error.code == "timeout"
    ends = [
        type(event) for event in world.events.events if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled)
    ]
    assert ends == [TaskFailed]


async def test_a_run_whose_preparation_is_cancelled_by_itself_has_failed(world) -> None:
    async def prepare(run: Run) -> Run:
        raise asyncio.CancelledError

    host = world.host(prepare=prepare)
    await host.start()
    run = await world.ended(await world.send(host, "hello"))
    assert (run.status, run.error.code) == ("failed", "chain")


def ends_of(world) -> list[type]:
    kinds = TaskCompleted | TaskFailed | TaskCancelled
    return [type(event) for event in world.events.events if isinstance(event, kinds)]


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 20, 80])
async def test_a_cancel_while_the_time_limit_takes_effect_loses_no_message(world, turns: int) -> None:
    async def cancel_later(task_id: str) -> None:
        active_run = host.active_runs.get(task_id)
        for _ in range(turns):
            await asyncio.sleep(0)
        if active_run is not None:
            active_run.cancel()

    async def cancelled_after_the_limit(ctx: Context, next: Next) -> None:
        try:
            await next(ctx)
        finally:
            cancelling.append(asyncio.ensure_future(cancel_later(ctx.task_id)))

    cancelling: list[asyncio.Future[None]] = []
    host = world.host(LIMITED, chain=with_middleware(cancelled_after_the_limit, recorded=True, held=world))
    await host.start()
    receipt = await world.send(host, "Stall here")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await world.clock.advance(11)
    run = await world.ended(receipt)
    await world.rest(host)

    assert run.status in {"failed", "cancelled"}
    assert len(cancelling) == run.starts == 1
    kinds = [record.kind for record in await world.store.sessions.list_records("s") if record.run_id == receipt.task_id]
    assert kinds == ["message", "message", "message", run.status]
    assert ends_of(world) == [TaskFailed if run.status == "failed" else TaskCancelled]


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_part_that_goes_on_after_the_time_limit_starts_nothing(world, recorded: bool) -> None:
    parts: list[asyncio.Future[None]] = []
    asked: list[str] = []

    async def note(request: ModelRequest, call: Call) -> ModelResponse:
        response = await call(request)
        asked.append(request.purpose)
        return response

    async def shielded(ctx: Context, next: Next) -> None:
        ctx.call_layers.append(note)
        parts.append(asyncio.ensure_future(next(ctx)))
        await asyncio.shield(parts[-1])

    host = world.host(LIMITED, chain=with_middleware(shielded, recorded=recorded, held=world))
    await host.start()
    receipt = await world.send(host, "Stall here")

    async def begun() -> bool:
        return bool(world.begun)

    await world.until(begun)
    await world.clock.advance(11)
    run = await world.ended(receipt)
    world.release.set()
    await asyncio.wait(parts)

    assert (run.status, run.error.code) == ("failed", "timeout")
    assert asked == ["reply"]
    assert ends_of(world) == [TaskFailed]
