"""Sub-agents on a host: in the ledger, over a suspension, and over the end of the process."""

from sophon import Decision
from sophon.events import SubAgentChanged
from sophon_hosting.fanout.contract import RunSignalled
from sophon_hosting.fanout.local_fanout import LocalFanout, LocalNetwork
from sophon_hosting.runs.run_signals import RunSignals
from sophon_hosting.runs.sub_agent_cancellation import cancel_sub_agent
from tests.agents import ask, call
from tests.hosting.agents.conftest import HostedShop


async def test_the_ledger_has_the_sub_agents_of_a_task(shop: HostedShop) -> None:
    await shop.host()
    asked = [ask("helper", "look around"), ask("helper", "and again", "c2")]
    shop.scripts = {"main": [asked], "helper": [[call("look")]]}
    receipt = await shop.send()
    await shop.ended(receipt)
    rows = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert [(each.agent, each.state, each.task, each.depth) for each in rows] == [
        ("helper", "completed", "look around", 1),
        ("helper", "completed", "and again", 1),
    ]
    assert {each.parent_id for each in rows} == {receipt.task_id}
    assert all(each.finished_at is not None for each in rows)
    assert await shop.store.sub_agents.list_unfinished() == []


async def test_they_go_with_their_session(shop: HostedShop) -> None:
    host = await shop.host()
    shop.scripts = {"main": [[ask("helper")]]}
    receipt = await shop.send()
    await shop.ended(receipt)
    await host.delete_session("s")
    assert await shop.store.sub_agents.list_for_task(receipt.task_id) == []


async def test_a_kill_in_the_middle_of_a_sub_agent_repeats_no_effect(shop: HostedShop) -> None:
    first = await shop.host()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")], [call("wait", "t2")], "Finished."]}
    receipt = await shop.send()
    await shop.until(lambda: len(shop.ran) == 2)
    await first.shutdown(grace_seconds=0)
    shop.gate.set()
    await shop.host()
    run = await shop.ended(receipt)
    assert run.status == "completed"
    assert [name for name, _ in shop.ran] == ["look", "wait"]
    assert len({run_id for _, run_id in shop.ran}) == 1
    last = [request for agent, request in shop.requests if agent == "helper"][-1]
    assert "interrupted" in last.messages[-1].content
    [row] = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert row.state == "completed"


async def test_a_waiting_sub_agent_goes_on_after_a_restart_and_a_decision(shop: HostedShop) -> None:
    first = await shop.host()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("look")], [call("send", "t2", to="Bob")], "Sent."]}
    receipt = await shop.send()
    run = await shop.status(receipt, "suspended")
    await first.shutdown(grace_seconds=0)
    second = await shop.host()
    [row] = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert (row.state, row.detail) == ("working", "Waiting for approval: send.")
    await second.approvals.decide(run.waiting_for[0], Decision.approve(), "ada")
    run = await shop.ended(receipt)
    assert run.status == "completed"
    assert [name for name, _ in shop.ran] == ["look", "send"]
    [row] = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert row.state == "completed"


async def test_a_waiting_sub_agent_can_be_cancelled_and_its_task_goes_on(shop: HostedShop) -> None:
    host = await shop.host()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("send", to="Bob")], "Sent."]}
    receipt = await shop.send()
    await shop.status(receipt, "suspended")
    [row] = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert await cancel_sub_agent(host.services, host.approvals, row, "ada") == "cancelling"
    run = await shop.ended(receipt)
    assert run.status == "completed"
    assert shop.ran == []
    [row] = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert row.state == "cancelled"
    assert await cancel_sub_agent(host.services, host.approvals, row, "ada") == "cancelled"


async def test_one_that_works_is_cancelled_at_once(shop: HostedShop) -> None:
    host = await shop.host()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    receipt = await shop.send()
    await shop.until(lambda: bool(shop.ran))
    assert host.services.assistant.agents is not None
    [running] = host.services.assistant.agents.running.list()
    row = await shop.store.sub_agents.find(running.id)
    assert row is not None
    await cancel_sub_agent(host.services, host.approvals, row, "ada")
    assert (await shop.ended(receipt)).status == "completed"
    assert [each.state for each in shop.events.of(SubAgentChanged)] == ["spawning", "working", "cancelled"]


async def test_a_wish_that_another_process_has_stored_is_found(shop: HostedShop) -> None:
    await shop.host()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    receipt = await shop.send()
    await shop.until(lambda: bool(shop.ran))

    async def stored() -> bool:
        return bool(await shop.store.sub_agents.list_unfinished())

    await shop.until(stored)
    [row] = await shop.store.sub_agents.list_unfinished()
    assert await shop.store.sub_agents.request_cancel(row.id)
    await shop.clock.advance(6)
    assert (await shop.ended(receipt)).status == "completed"
    assert [each.state for each in shop.events.of(SubAgentChanged)][-1] == "cancelled"


async def test_a_wish_of_another_process_is_found_at_its_signal(shop: HostedShop) -> None:
    host = await shop.host()
    network = LocalNetwork()
    there = LocalFanout(network)
    await there.open()
    host.fanout = LocalFanout(network)
    host.signals = RunSignals(host.fanout, host.execution.reconciler.notice_signal)
    await host.fanout.open()
    host.signals.start()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    receipt = await shop.send()
    await shop.until(lambda: bool(shop.ran))

    async def stored() -> bool:
        return bool(await shop.store.sub_agents.list_unfinished())

    await shop.until(stored)
    [row] = await shop.store.sub_agents.list_unfinished()
    assert await shop.store.sub_agents.request_cancel(row.id)
    there.publish(RunSignalled(receipt.task_id, "cancel"))
    assert (await shop.ended(receipt)).status == "completed"
    assert [each.state for each in shop.events.of(SubAgentChanged)][-1] == "cancelled"


async def test_cancelling_the_task_cancels_its_sub_agents(shop: HostedShop) -> None:
    host = await shop.host()
    shop.scripts = {"main": [[ask("helper")]], "helper": [[call("wait")]]}
    receipt = await shop.send()
    await shop.until(lambda: bool(shop.ran))
    await host.cancel(receipt.task_id)
    assert (await shop.ended(receipt)).status == "cancelled"
    [row] = await shop.store.sub_agents.list_for_task(receipt.task_id)
    assert row.state == "cancelled"


async def test_an_agent_may_have_a_chain_of_its_own(shop: HostedShop) -> None:
    shop.write("helper", "chain: clawft")
    shop.write("lost", "chain: nochain")
    await shop.host()
    shop.scripts = {"main": [[ask("helper"), ask("lost", call_id="c2")]], "helper": [[call("look")]]}
    receipt = await shop.send()
    await shop.ended(receipt)
    rows = {each.agent: each for each in await shop.store.sub_agents.list_for_task(receipt.task_id)}
    assert rows["helper"].state == "completed"
    assert rows["lost"].state == "failed"
    assert "nochain" in rows["lost"].detail
    assert [name for name, _ in shop.ran] == ["look"]
