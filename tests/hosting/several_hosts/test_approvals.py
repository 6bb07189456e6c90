"""Decisions at one host about turns of another: the turn goes on once, and the decision is announced once."""

import asyncio

import pytest

from sophon import Decision
from sophon_hosting.runs.approvals.approval_service import DecisionRefused


async def test_a_suspended_turn_goes_on_at_any_host(group) -> None:
    first = await group.join()
    receipt = await group.send(first, "Pay Bob")
    approval = await group.suspended(first, receipt)
    second = await group.join()
    await first.queue.pause()
    await second.approvals.decide(approval, Decision.approve(), "ada")
    run = await group.ended_later(receipt)
    assert (run.status, run.starts, group.paid) == ("completed", 2, ["Bob"])
    names = await group.names("s")
    assert [names.count(name) for name in ("approval_requested", "approval_resolved", "tool_call_started")] == [1, 1, 1]


async def test_a_decision_with_the_broker_away_is_carried_out_afterwards(group) -> None:
    host = await group.join()
    receipt = await group.send(host, "Pay Bob")
    approval = await group.suspended(host, receipt)
    group.broker.set_away(True)
    await host.approvals.decide(approval, Decision.approve(), "ada")
    group.broker.set_away(False)
    assert ((await group.ended_later(receipt)).status, group.paid) == ("completed", ["Bob"])


async def test_of_two_equal_decisions_at_two_hosts_one_counts(group) -> None:
    hosts = [await group.join(), await group.join()]
    receipt = await group.send(hosts[0], "Pay Bob")
    run = await group.status(receipt, "suspended")
    decisions = [host.approvals.decide(run.waiting_for[0], Decision.approve(), "ada") for host in hosts]
    results = await asyncio.gather(*decisions, return_exceptions=True)
    assert [isinstance(result, DecisionRefused) for result in results].count(True) == 1
    await group.ended_later(receipt)
    assert (await group.names("s")).count("approval_resolved") == 1


async def test_an_expiry_is_one_outcome_and_one_event(group) -> None:
    settings = {"Approval": {"Timeout": "00:01:00", "OnTimeout": "Deny"}}
    for _ in range(3):
        host = await group.join(settings)
    receipt = await group.send(host, "Pay Bob")
    await group.status(receipt, "suspended")
    run = await group.ended_later(receipt)
    assert (run.status, group.paid) == ("completed", [])
    assert (await group.names("s")).count("approval_resolved") == 1


async def test_the_question_of_a_host_that_died_expires(group) -> None:
    settings = {"Approval": {"Timeout": "00:01:00", "OnTimeout": "Deny"}}
    await group.join(settings)
    victim = group.hosts[0]
    receipt = await group.send(victim, "Pay Bob")
    await group.suspended(victim, receipt)
    await group.join(settings)
    await group.kill(victim)
    assert (await group.ended_later(receipt)).status == "completed"


async def test_nobody_decides_what_was_decided_at_another_host(group) -> None:
    first, second = await group.join(), await group.join()
    receipt = await group.send(first, "Pay Bob")
    run = await group.status(receipt, "suspended")
    await first.approvals.decide(run.waiting_for[0], Decision.reject("no"), "ada")
    with pytest.raises(DecisionRefused, match="decided this before"):
        await second.approvals.decide(run.waiting_for[0], Decision.approve(), "ada")


async def test_a_decision_that_comes_before_its_asker_knows_of_the_question_is_announced_once(
    group, monkeypatch
) -> None:
    """The store has the question; before its asker reads it, another process decides."""
    first, second = await group.join(), await group.join()
    await second.queue.pause()
    approvals = group.store.approvals
    read, decided = approvals.get, []

    async def decide_and_read(approval_id: str):
        if not decided:
            decided.append(approval_id)
            await second.approvals.decide(approval_id, Decision.approve(), "ada")
        return await read(approval_id)

    monkeypatch.setattr(approvals, "get", decide_and_read)
    receipt = await group.send(first, "Pay Bob")
    run = await group.ended_later(receipt)
    assert (run.status, run.starts, group.paid) == ("completed", 1, ["Bob"])
    assert (await group.names("s")).count("approval_resolved") == 1


async def test_a_decision_of_a_process_that_stalls_afterwards_is_announced_once(group, monkeypatch) -> None:
    """The process stalls when its decision is stored, and goes on when the turn has ended elsewhere."""
    first, second = await group.join(), await group.join()
    await second.queue.pause()
    receipt = await group.send(first, "Pay Bob")
    approval = await group.suspended(first, receipt)
    approvals, goes_on = group.store.approvals, asyncio.Event()
    decide = approvals.decide

    async def decide_and_stall(*arguments, **options):
        record = await decide(*arguments, **options)
        await goes_on.wait()
        return record

    monkeypatch.setattr(approvals, "decide", decide_and_stall)
    deciding = asyncio.create_task(second.approvals.decide(approval, Decision.approve(), "ada"))
    run = await group.ended_later(receipt)
    goes_on.set()
    await deciding
    assert (run.status, group.paid) == ("completed", ["Bob"])
    assert (await group.names("s")).count("approval_resolved") == 1
