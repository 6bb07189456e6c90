"""Guards and sub-agents: what one has read counts for all of the turn, and a person sees who asks."""

from pathlib import Path

import pytest

from sophon import Risk, tool
from sophon.approvals import Decision
from sophon.builtin_tools.agents import agents_run
from sophon.chain.placement import place
from sophon.errors import CompositionError
from sophon.events import GuardVerdict
from sophon.stores.grants.contract import StandingGrant
from sophon.tools.tool import Tool
from sophon_middlewares.chains.additions import GUARD_ORDER, find_guards
from tests.agents import Workshop, ask, call
from tests.gate import Gate

FLOW = {"InformationFlow": {"Enabled": True, "Mode": "Enforce"}}


def guarded(folder: Path, **guards: object) -> Workshop:
    shop = Workshop(folder, Guards={**FLOW, **guards}, Tools={"FilesRoot": str(folder / "files")})
    shop.write("helper")
    shop.open()
    shop.chain = place(shop.chain, find_guards(shop.services.settings.guards).values(), GUARD_ORDER)
    return shop


async def test_private_data_that_a_sub_agent_has_read_does_not_leave_by_its_parent(tmp_path: Path) -> None:
    shop = guarded(tmp_path)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "diary.txt").write_text("Heron")
    shop.scripts = {
        "main": [[ask("helper")], [call("http.send", "h", url="https://hooks.acme-corp.io/x", body="Heron")]],
        "helper": [[call("files.read", path="diary.txt")], [call("fetch", "t2")]],
    }
    _, ctx = await shop.run()
    assert ctx.tally.taint.is_private
    blocked = [each for each in shop.events.of(GuardVerdict) if each.call_id == "h" and each.verdict != "allow"]
    assert blocked, shop.results(ctx)


async def test_without_the_sub_agents_reading_the_same_call_is_not_blocked(tmp_path: Path) -> None:
    shop = guarded(tmp_path)
    send = call("http.send", "h", url="https://hooks.acme-corp.io/x", body="Heron")
    shop.scripts = {"main": [[ask("helper")], [send]]}
    _, ctx = await shop.run()
    assert not ctx.tally.taint.is_private
    assert [
        each for each in shop.events.of(GuardVerdict) if each.call_id == "h" and each.guard == "InformationFlow"
    ] == []


async def test_giving_a_task_to_an_agent_is_no_way_out_of_the_turn(tmp_path: Path) -> None:
    """Private data may go to a sub-agent, which may send it as little as its parent."""
    shop = guarded(tmp_path)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "diary.txt").write_text("Heron")
    shop.scripts = {
        "main": [[call("files.read", path="diary.txt"), call("fetch", "t2")], [ask("helper", "send Heron")]],
        "helper": [[call("http.send", "h", url="https://hooks.acme-corp.io/x", body="Heron")]],
    }
    await shop.run()
    assert shop.states()[-1] == "completed"
    assert [each for each in shop.events.of(GuardVerdict) if each.call_id == "h" and each.verdict != "allow"]


async def test_a_tool_that_a_level_may_not_use_no_agent_may_use(tmp_path: Path) -> None:
    rules = [{"Principal": "*", "Resource": "tool:look", "Action": "execute", "Effect": "deny"}]
    shop = guarded(tmp_path, Authorization={"Enabled": True, "Rules": rules})
    shop.write("helper", "tools: [look]")
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")]]}
    await shop.run(principal="ada")
    assert shop.ran == []


async def test_a_person_is_told_which_sub_agent_asks(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    shop.write("helper")
    gate = shop.options["approvals"] = Gate(Decision.reject("no"))
    shop.scripts = {"main": [[ask("helper")], [call("send", "s")]], "helper": [[call("send")]]}
    await shop.run()
    assert "The sub-agent helper makes this call." in gate.asked[0].preview
    assert "sub-agent" not in gate.asked[1].preview


async def test_a_grant_reaches_a_sub_agent_no_further_than_its_parent(tmp_path: Path) -> None:
    """A grant for one session of one person covers the calls of a sub-agent there, and nowhere else."""
    shop = Workshop(tmp_path)
    shop.write("helper")
    shop.open()
    now = shop.clock.now()
    pattern = {"to": "ada"}
    grant = StandingGrant(
        "g", "session", "ada", "s", "send", "high", pattern, "send to ada", "ada", now, now.replace(year=2030)
    )
    await shop.services.store.grants.add(grant)
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("send", to="ada")]]}
    await shop.run(principal="ada", session_id="other")
    await shop.run(principal="bob", session_id="t")
    assert shop.ran == []
    shop.scripts["helper"] = [[call("send", to="eve")]]
    await shop.run(principal="ada", session_id="s")
    assert shop.ran == []


def test_a_nested_tool_must_be_idempotent() -> None:
    assert isinstance(agents_run, Tool)
    with pytest.raises(CompositionError, match="idempotent"):
        tool(name="x", risk=Risk.LOW, nested=True)(ask_nothing)


async def ask_nothing() -> str:
    """Ask nothing."""
    return ""
