"""What every store promises about the ledger of sub-agents."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sophon.stores.contract import Store
from sophon.stores.sub_agents.sub_agent_run import SubAgentRun
from sophon.stores.usage.contract import Period

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def row(
    name: str = "a", *, task: str = "t", principal: str = "ada", session: str = "s", state: str = "working"
) -> SubAgentRun:
    return SubAgentRun(f"{task}/agent-{name}", task, task, name, session, principal, "do it", state, 1, NOW)


async def test_the_sub_agents_of_a_turn_are_listed_in_their_order(store: Store):
    await store.sub_agents.put([row("b"), row("a"), row("c", task="other")])
    assert list(await store.sub_agents.list_for_task("t")) == [row("b"), row("a")]
    assert await store.sub_agents.find("t/agent-a") == row("a")
    assert await store.sub_agents.find("t/agent-x") is None


async def test_only_state_end_and_detail_of_a_known_one_change(store: Store):
    await store.sub_agents.put([row(state="spawning")])
    assert await store.sub_agents.request_cancel("t/agent-a")
    later = replace(row(), state="cancelled", finished_at=NOW, detail="why", created_at=NOW + timedelta(1), task="x")
    await store.sub_agents.put([later])
    expected = replace(row(), state="cancelled", finished_at=NOW, detail="why", cancel_requested=True)
    assert await store.sub_agents.find("t/agent-a") == expected


async def test_one_that_has_ended_is_not_cancelled(store: Store):
    await store.sub_agents.put([row(state="completed")])
    assert not await store.sub_agents.request_cancel("t/agent-a")
    assert not await store.sub_agents.request_cancel("t/agent-x")
    found = await store.sub_agents.find("t/agent-a")
    assert found is not None
    assert not found.cancel_requested


async def test_the_unfinished_ones_of_a_person_are_listed(store: Store):
    bobs, failed = row("b", principal="bob"), row("c", state="failed")
    await store.sub_agents.put([row("a"), bobs, failed, row("d", state="spawning")])
    assert [each.agent for each in await store.sub_agents.list_unfinished()] == ["a", "b", "d"]
    assert [each.agent for each in await store.sub_agents.list_unfinished("ada")] == ["a", "d"]


async def test_they_go_with_their_session(store: Store):
    await store.sessions.get_or_create("s", "ada")
    await store.sub_agents.put([row("a"), row("b", session="other")])
    await store.sessions.delete("s")
    assert [each.agent for each in await store.sub_agents.list_for_task("t")] == ["b"]


async def test_they_go_with_their_person(store: Store):
    await store.sub_agents.put([row("a", session="group"), row("b", principal="bob")])
    counts = await store.persons.forget("ada", Period("2026-01-31", "2026-01"))
    assert counts["sub_agents"] == 1
    assert [each.agent for each in await store.sub_agents.list_for_task("t")] == ["b"]


async def test_old_ones_expire(store: Store):
    await store.sub_agents.put([row("a"), replace(row("b"), created_at=NOW + timedelta(1))])
    assert await store.sub_agents.expire(NOW + timedelta(hours=1)) == 1
    assert [each.agent for each in await store.sub_agents.list_for_task("t")] == ["b"]
