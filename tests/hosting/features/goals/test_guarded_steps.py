"""Steps of goals behind guards: a rule that blocks one tool three times locks it, and the next plan avoids it."""

from pathlib import Path

import pytest

from sophon.goal_autonomy import AUTONOMIES, Autonomy
from sophon.risk import Risk
from sophon.settings import ApprovalSettings
from sophon_middlewares.inner.approval.approval import is_asked_in_goal
from tests.hosting.features.goals.conftest import World, plan, step

POLICY = "deny:\n  - name: No notes\n    action_types: [note]\n"


async def test_a_tool_that_a_guard_blocks_three_times_is_locked(world: World, tmp_path: Path):
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    world.guards = True
    world.settings = {"Guards": {"Shield": {"PolicyFile": str(path)}}}
    world.plans = [plan(step("a", "note", text="one")), plan(step("b"))]
    await world.start()
    done = await world.ended(await world.create())
    assert (done.state, done.plan_number, world.kept) == ("completed", 2, [])
    assert done.stability.locked_tools == ("note",)
    asked = [each for each in world.asked if each.purpose == "plan"]
    assert "- note " in asked[0].messages[0].content
    assert "- note " not in asked[1].messages[0].content
    assert "blocked by Shield" in asked[1].messages[0].content


HOST = {
    "default": ("- - - - asks", {}),
    "asks about all": ("asks asks asks asks asks", {"AskFrom": "None"}),
    "asks about none": ("- - - - asks", {"AskFrom": "High", "AutoApproveUpTo": "Critical"}),
}


@pytest.mark.parametrize("name", HOST)
def test_full_autonomy_lets_run_what_its_owner_may_allow_and_keeps_stricter_rules_of_the_host(name: str):
    expected, settings = HOST[name]
    approval = ApprovalSettings.model_validate(settings)
    assert [_ask("Full", risk, approval) for risk in Risk] == expected.split()


@pytest.mark.parametrize("mode", AUTONOMIES)
def test_what_the_host_lets_run_is_still_asked_about_in_a_stricter_goal(mode: Autonomy):
    lenient = ApprovalSettings.model_validate({"AutoApproveUpTo": "Critical"})
    expected = {"Assist": "asks asks asks asks asks", "Semi": "- - - asks asks", "Full": "- - - - asks"}[mode]
    assert [_ask(mode, risk, lenient) for risk in Risk] == expected.split()


def _ask(mode: Autonomy, risk: Risk, settings: ApprovalSettings) -> str:
    return "asks" if is_asked_in_goal(mode, risk, settings) else "-"
