"""What a host has read of a goal and accepts when somebody has deleted or stopped it meanwhile, over every store."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sophon.errors import ChangedMeanwhile
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.host import RunRequest, TaskReceipt
from tests.hosting.features.goals.conftest import World, plan, step
from tests.store_urls import store_url as store_url


class Held:
    """A call that has been made and waits until the test lets it go on; `ended` is what came of it."""

    def __init__(self, is_meant: Callable[..., bool]) -> None:
        self._is_meant = is_meant
        self.reached, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.ended: asyncio.Future[TaskReceipt | BaseException] = asyncio.get_running_loop().create_future()

    def wrap(self, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def held(*arguments: Any, **named: Any) -> Any:
            if self.reached.is_set() or not self._is_meant(*arguments, **named):
                return await call(*arguments, **named)
            self.reached.set()
            await self.may_go_on.wait()
            try:
                result = await call(*arguments, **named)
            except BaseException as error:
                self.ended.set_result(error)
                raise
            self.ended.set_result(result)
            return result

        return held


def accepts(what: str) -> Callable[..., bool]:
    """Return whether a request, or a run that the store is to accept, is a step or the report of a goal."""
    end = "/report" if what == "report" else ""

    def is_meant(message: Any, key: Any = None, **_: Any) -> bool:
        key = message.inbound_key if isinstance(message, RunRequest) else key
        return key is not None and key.external_id.startswith("goal/") and key.external_id.endswith(end)

    return is_meant


def knows_a_run(goal: Goal) -> bool:
    return any(node.run_id for node in goal.nodes)


async def hold_acceptance(world: World, what: str, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool) -> Held:
    """Start a host that works on goals, and hold its acceptance of a step or a report.

    `elsewhere`: a second host is started that deletes, and what is held is the write of the first one; the gate of a
    session, which would hold up a deletion of the same host, is not known to the second.
    """
    held = Held(accepts(what))
    host, _ = await world.start()
    if elsewhere:
        monkeypatch.setattr(world.store.runs, "accept", held.wrap(world.store.runs.accept))
        _, engine = await world.start()
        await engine.stop()
    else:
        monkeypatch.setattr(host, "accept", held.wrap(host.accept))
    return held


async def reach(world: World, held: Held) -> None:
    """Move the clock until the call is made: a goal that another host has made is found at a tick."""
    async with asyncio.timeout(20):
        while not held.reached.is_set():
            for _ in range(20):
                await asyncio.sleep(0.001)
            await world.clock.advance(1)


async def let_go_on(held: Held) -> TaskReceipt | BaseException:
    held.may_go_on.set()
    async with asyncio.timeout(20):
        return await held.ended


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("what", ["step", "report"])
async def test_nothing_is_accepted_for_a_goal_that_was_deleted_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str, elsewhere: bool
):
    world.plans = [plan(step("a", "note", text="one"))]
    held = await hold_acceptance(world, what, monkeypatch, elsewhere=elsewhere)
    goal = await world.commands.create(owner="ada", title="Errand")
    await reach(world, held)
    await world.finish(lambda: world.delete_goal(goal))
    assert isinstance(await let_go_on(held), ChangedMeanwhile)
    await world.stop()
    assert await stored_goals(world.store).find(goal.id) is None
    assert await world.store.sessions.list() == []
    assert await world.store.runs.list() == []


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_deleted_chat_does_not_come_back_with_the_report_of_its_goal(
    world: World, monkeypatch: pytest.MonkeyPatch, elsewhere: bool
):
    world.plans = [plan(step("a", "note", text="one"))]
    held = await hold_acceptance(world, "report", monkeypatch, elsewhere=elsewhere)
    await world.create()
    await reach(world, held)
    await world.delete_session("chat")
    assert isinstance(await let_go_on(held), ChangedMeanwhile)
    await world.stop()
    assert await world.store.sessions.list() == []
    assert await world.store.runs.list() == []


@pytest.mark.parametrize("change", ["pause", "cancel"])
async def test_no_step_is_accepted_for_a_goal_that_was_stopped_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, change: str
):
    world.plans = [plan(step("a", "note", text="one"))]
    held = await hold_acceptance(world, "step", monkeypatch, elsewhere=False)
    goal = await world.create()
    await reach(world, held)
    await getattr(world.commands, change)(goal.id, "ada", by="ada")
    assert isinstance(await let_go_on(held), ChangedMeanwhile)
    stopped = await world.until(goal, lambda found: found.nodes[0].status == "pending")
    assert (stopped.nodes[0].run_id, world.kept) == ("", [])
    assert await world.store.runs.list() == []


async def test_a_step_that_was_accepted_just_before_its_goal_was_cancelled_is_stopped_after_a_kill(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    world.plans = [plan(step("a", "note", text="one"))]
    world.held = asyncio.Event()
    noted = Held(knows_a_run)
    host, _ = await world.start()
    await host.queue.pause()  # the run waits until the next start
    monkeypatch.setattr(stored_goals(world.store), "change", noted.wrap(stored_goals(world.store).change))
    goal = await world.create()
    await reach(world, noted)
    await world.commands.cancel(goal.id, "ada", by="ada")
    await world.stop()  # before the goal knows its run
    await world.start()
    await world.until(goal, lambda found: found.nodes[0].status == "pending")
    (run,) = await world.store.runs.list(session_id=goal.work_session_id)
    assert run.status == "cancelled"
