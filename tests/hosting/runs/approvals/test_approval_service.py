"""Approvals: asked once, decided once, by those who may; time decides the rest; each decision wakes its turn."""

import asyncio
from dataclasses import replace

import pytest

from sophon import Decision
from sophon.errors import NotFound
from sophon_hosting.host import Host
from sophon_hosting.runs.approvals.approval_service import DecisionRefused, check_grant, check_kind

APPROVE = Decision.approve()


async def refusal(host: Host, approval: str, decision: Decision, by: str) -> DecisionRefused:
    with pytest.raises(DecisionRefused) as refused:
        await host.approvals.decide(approval, decision, by)
    return refused.value


async def test_an_approved_call_runs_once_and_the_turn_goes_on(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    record = await host.approvals.decide(approval, APPROVE, "ada")
    run = await world.ended(receipt)
    assert run.response is not None
    assert (run.response["text"], world.paid) == ("Done: paid Bob", ["Bob"])
    assert record.decision is not None
    assert record.decision.decided_by == "ada"


async def test_a_question_of_a_plans_step_wakes_the_plans_turn(world, host: Host) -> None:
    receipt = await world.send(host, "plan to pay", planning="Always")
    approval = await world.suspended(host, receipt)
    request = (await world.store.approvals.get(approval)).request
    await host.approvals.decide(approval, APPROVE, "ada")
    assert (await world.ended(receipt)).status == "completed"
    assert (request.run_id, world.paid, world.planned) == (f"{receipt.task_id}/a", ["Bob"], 1)


async def test_an_edited_call_runs_with_the_new_arguments(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    await host.approvals.decide(await world.suspended(host, receipt), Decision.edit({"to": "Eve"}), "ada")
    await world.ended(receipt)
    assert world.paid == ["Eve"]


async def test_a_grant_that_is_not_offered_is_refused_and_the_question_stays(world, host: Host) -> None:
    approval = await world.suspended(host, await world.send(host, "Pay Bob"))
    stored = await world.store.approvals.get(approval)
    assert stored.request.grant_offer
    for decision in (Decision("reject", grant="always"), Decision("edit", arguments={"to": "Eve"}, grant="session")):
        assert (await refusal(host, approval, decision, "ada")).code == "not_grantable"
    with pytest.raises(DecisionRefused, match="only by itself"):
        check_grant(replace(stored.request, grant_offer=""), Decision.approve(grant="session"))
    assert (await world.store.approvals.get(approval)).decision is None


async def test_a_rejected_call_does_not_run(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    await host.approvals.decide(await world.suspended(host, receipt), Decision.reject("too dear"), "ada")
    run = await world.ended(receipt)
    assert run.response is not None
    assert (world.paid, "too dear" in run.response["text"]) == ([], True)


async def test_what_may_not_be_edited_is_not(world, host: Host) -> None:
    approval = await world.suspended(host, await world.send(host, "Burn letters"))
    assert (await refusal(host, approval, Decision.edit({"what": "money"}), "ada")).code == "not_editable"


async def test_only_the_owner_or_a_listed_approver_decides(world) -> None:
    host = world.host(approvers=["boss"])
    await host.start()
    approval = await world.suspended(host, await world.send(host, "Pay Bob"))
    with pytest.raises(NotFound, match="there is no approval"):
        await host.approvals.decide(approval, APPROVE, "eve")
    assert (await host.approvals.decide(approval, APPROVE, "boss")).decision is not None


async def test_a_later_decision_is_told_who_was_first(world, host: Host) -> None:
    approval = await world.suspended(host, await world.send(host, "Pay Bob"))
    await host.approvals.decide(approval, APPROVE, "ada")
    late = await refusal(host, approval, Decision.reject("no"), "ada")
    assert (late.code, late.decided_by) == ("already_decided", "ada")


async def test_of_many_presses_at_once_one_wins_and_the_tool_runs_once(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    presses = [host.approvals.decide(approval, APPROVE, "ada") for _ in range(10)]
    answers = await asyncio.gather(*presses, return_exceptions=True)
    await world.ended(receipt)
    assert [type(answer).__name__ for answer in answers].count("DecisionRefused") == 9
    assert world.paid == ["Bob"]


async def test_time_decides_and_the_turn_ends(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    await world.clock.advance(301)
    run = await world.ended(receipt)
    assert run.response is not None
    assert "nobody decided within 5 minutes" in run.response["text"]
    assert world.paid == []
    late = await refusal(host, approval, APPROVE, "ada")
    assert (late.code, str(late)) == ("already_decided", "nobody decided within 5 minutes: it counts as rejected")


async def test_halted_by_time_the_turn_is_rejected(world) -> None:
    host = world.host({"Approval": {"OnTimeout": "Halt"}})
    await host.start()
    receipt = await world.send(host, "Pay Bob")
    await world.suspended(host, receipt)
    await world.clock.advance(301)
    run = await world.ended(receipt)
    assert run.response is not None
    assert run.response["finish_reason"] == "rejected"


async def test_an_approval_expires_soon_after_the_computer_wakes_up(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    await world.suspended(host, receipt)
    world.clock.jump(8 * 3600)
    await world.clock.advance(30)
    assert (await world.ended(receipt)).status == "completed"
    [record] = await world.store.approvals.list(open_only=False)
    assert record.decision is not None
    assert record.decision.verdict == "reject"


async def test_an_approval_expires_when_its_time_is_over_though_the_clock_was_set_back(world, host: Host) -> None:
    receipt = await world.send(host, "Pay Bob")
    await world.suspended(host, receipt)
    world.clock.jump(-24 * 3600)
    await world.clock.advance(299)
    assert (await world.run(receipt)).status == "suspended"
    await world.clock.advance(1)
    assert (await world.ended(receipt)).status == "completed"


async def test_a_parked_turn_waits_until_somebody_decides(world) -> None:
    host = world.host({"Approval": {"OnTimeout": "Park"}})
    await host.start()
    receipt = await world.send(host, "Pay Bob")
    approval = await world.suspended(host, receipt)
    await world.clock.advance(3000)
    assert (await world.run(receipt)).status == "suspended"
    await host.approvals.decide(approval, APPROVE, "ada")
    assert (await world.ended(receipt)).status == "completed"


async def test_after_expiry_a_decision_is_refused_even_before_the_sweep(world) -> None:
    host = world.host()
    await host.start()
    approval = await world.suspended(host, await world.send(host, "Pay Bob"))
    await host.shutdown()
    await world.clock.advance(301)
    assert (await refusal(host, approval, APPROVE, "ada")).code == "expired"


async def test_a_suspension_is_no_decision(world, host: Host) -> None:
    approval = await world.suspended(host, await world.send(host, "Pay Bob"))
    assert (await refusal(host, approval, Decision.suspend(), "ada")).code == "not_a_decision"


async def test_an_unknown_question_is_said_to_be_none(host: Host) -> None:
    with pytest.raises(NotFound):
        await host.approvals.decide("apr_none", APPROVE, "ada")


async def test_asked_again_after_a_restart_it_keeps_its_expiry(world) -> None:
    first = world.host()
    await first.start()
    receipt = await world.send(first, "Pay Bob")
    approval = await world.suspended(first, receipt)
    expiry = (await world.store.approvals.get(approval)).request.expires_at
    await first.shutdown()
    await world.clock.advance(60)
    second = world.host()
    await second.start()
    await second.queue.put(world.resume(await world.run(receipt)))
    await world.suspended_again(receipt, starts=2)
    assert [record.request.expires_at for record in await world.store.approvals.list()] == [expiry]


async def test_a_question_is_answered_and_nothing_else_is(world, host: Host) -> None:
    approval = await world.suspended(host, await world.send(host, "Pay Bob"))
    request = (await world.store.approvals.get(approval)).request
    assert (await refusal(host, approval, Decision.answer("yes"), "ada")).code == "wrong_kind"
    question = replace(request, kind="question")
    for decision, code in (
        (APPROVE, "wrong_kind"),
        (Decision.edit({}), "wrong_kind"),
        (Decision.answer(" "), "invalid_arguments"),
        (Decision.answer("x" * 2001), "invalid_arguments"),
    ):
        with pytest.raises(DecisionRefused) as refused:
            check_kind(question, decision)
        assert refused.value.code == code
    check_kind(question, Decision.answer("blue"))
    check_kind(question, Decision.reject())
