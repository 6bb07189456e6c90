"""A goal goes on only for an owner who may still write to the host, and may still chat."""

from typing import Any

import pytest

from tests.hosting.features.goals.conftest import World, plan, step

ADA = {"Id": "ada", "Token": "a long token of ada"}
BOB = {"Id": "bob", "Token": "a long token of bob"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"Hub": {"Users": [BOB]}}, "ada is no user of this host any more"),
        (
            {"Permissions": {"Users": {"ada": {"Level": "ZeroTrust"}}, "Levels": {"ZeroTrust": {"Features": []}}}},
            "ada may not chat any more: the level is ZeroTrust",
        ),
    ],
)
async def test_a_goal_of_an_owner_who_may_not_write_any_more_is_paused(
    world: World, change: dict[str, Any], reason: str
):
    world.checks_owners = True
    world.settings = {"Hub": {"Users": [ADA, BOB]}}
    world.plans = [plan(step("ask", "pay", text="one"), step("after", "note", text="two", needs=["ask"]))]
    await world.start()
    goal = await world.create(channel="hub")
    await world.until(goal, lambda found: any(node.waits for node in found.nodes))
    await world.stop()

    world.settings |= change
    await world.start()
    paused = await world.until(goal, lambda found: found.state == "paused" and found.nodes[0].status == "pending")
    assert (paused.pause_kind, paused.reason, world.kept) == ("person", reason, [])
    assert [each.status for each in paused.nodes] == ["pending", "pending"]


async def test_a_goal_of_a_user_goes_on(world: World):
    world.checks_owners = True
    world.settings = {"Hub": {"Users": [ADA]}}
    world.plans = [plan(step("a", "note", text="one"))]
    await world.start()
    assert (await world.ended(await world.create(channel="webhook"))).state == "completed"
