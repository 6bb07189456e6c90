"""The resource governor: limits of one user per minute and hour, and what happens if the store does not answer."""

from datetime import timedelta

import pytest

from sophon.errors import StoreUnavailable
from sophon.stores.contract import Store
from sophon.testing import VirtualClock
from sophon_hosting.features.goals.governor import Resource, ResourceGovernor
from sophon_hosting.features.goals.settings import ResourceLimitSettings
from tests.hosting.features.goals.conftest import World, plan, step

LIMITS: dict[Resource, tuple[int, int, timedelta]] = {
    "tasks": (50, 1, timedelta(hours=1)),
    "llm_calls": (30, 1, timedelta(minutes=1)),
    "api_calls": (60, 1, timedelta(minutes=1)),
    "tokens": (100_000, 1000, timedelta(minutes=1)),
}
"""Published limits, the unit of counting, and the window."""


@pytest.mark.parametrize("resource", LIMITS)
async def test_a_user_may_use_the_published_amount_and_again_when_it_is_past(
    resource: Resource, store: Store, clock: VirtualClock
):
    limit, unit, window = LIMITS[resource]
    governor = ResourceGovernor(store.rate_windows, clock, ResourceLimitSettings())
    await governor.record("ada", **{resource: limit - unit})
    assert await governor.find_exhausted("ada", [resource]) is None
    await governor.record("ada", **{resource: unit})
    found = await governor.find_exhausted("ada", ["tasks", "llm_calls", "api_calls", "tokens"])
    assert found is not None
    assert (found.resource, found.used, found.limit) == (resource, limit, limit)
    assert str(found).startswith(f"{limit}/{limit} ")
    assert await governor.find_exhausted("bob", [resource]) is None
    await clock.advance(window.total_seconds())
    assert await governor.find_exhausted("ada", [resource]) is None


async def test_two_hosts_share_the_limits_of_a_user(store: Store, clock: VirtualClock):
    one, two = (ResourceGovernor(store.rate_windows, clock, ResourceLimitSettings()) for _ in range(2))
    await one.record("ada", llm_calls=20)
    await two.record("ada", llm_calls=10)
    assert await one.find_exhausted("ada", ["llm_calls"]) is not None


async def test_what_models_used_holds_back_the_next_step_of_the_agent(world: World):
    world.settings = {"Goals": {"Limits": {"LlmCallsPerMinute": 2}}}
    world.plans = [plan(step("a"), step("b", needs=["a"]))]
    await world.start()
    goal = await world.create()
    held = await world.until(goal, lambda found: found.reason.startswith("waits: 2/2 llm calls"))
    assert (held.state, held.get_node("a").status, held.get_node("b").tries) == ("active", "done", 0)
    done = await world.until(goal, lambda found: not found.is_live, step_seconds=15)
    assert (done.state, done.spent.model_calls) == ("completed", 3)


async def test_a_store_that_does_not_answer_allows_nothing(world: World, monkeypatch: pytest.MonkeyPatch):
    world.plans = [plan(step("a", "note", text="one"))]
    host, engine = await world.start()
    await engine.stop()

    async def fail(*_: object) -> list[object]:
        raise StoreUnavailable("store", "disk", "gone")

    with monkeypatch.context() as broken:
        broken.setattr(world.store.rate_windows, "load", fail)
        engine.start()
        goal = await world.create()
        for _ in range(5):
            await world.clock.advance(20)
        assert (await world.get(goal)).state == "planning"
        assert (world.asked, world.kept) == ([], [])
    assert (await world.ended(goal)).state == "completed"
    assert host.services.store is world.store


async def test_without_the_check_the_same_step_would_have_started(world: World, monkeypatch: pytest.MonkeyPatch):
    async def allow(*_: object) -> None:
        return None

    monkeypatch.setattr(ResourceGovernor, "find_exhausted", allow)
    world.settings = {"Goals": {"Limits": {"TasksPerHour": 1}}}
    world.plans = [plan(step("a", "note", text="one"), step("b", "note", text="two"))]
    await world.start()
    begin = world.clock.now()
    assert (await world.ended(await world.create())).state == "completed"
    assert world.clock.now() - begin < timedelta(minutes=5)


@pytest.mark.parametrize("count", [5, 1])
async def test_five_steps_of_the_agent_run_at_once_for_a_user(world: World, count: int):
    limits = {"RunningAgents": count}
    world.settings = {"Goals": {"MaxConcurrent": 10, "Limits": limits, "Budget": {"Parallel": 8}}}
    world.plans = [plan(*(step(f"s{number}") for number in range(7)))]
    await world.start()
    goal = await world.create()
    seen = await world.until(goal, lambda found: found.reason.startswith("waits: ") or not found.is_live)
    assert seen.reason in (f"waits: {count}/{count} running agents", "all steps are done")
    assert (await world.ended(goal)).state == "completed"
