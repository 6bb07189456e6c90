"""With several users a Critical call needs an operator, by whatever way it would be approved."""

import pytest

from sophon import Decision
from sophon.events import ApprovalRequested
from sophon.principals import LOCAL_USER, STORE_OPERATOR
from sophon_hosting.host import Host
from sophon_hosting.runs.approvals.approval_service import DecisionRefused

APPROVE, EDIT, REJECT = Decision.approve(), Decision.edit({"what": "less"}), Decision.reject("no")


async def start(world, settings: dict | None = None, **options: object) -> Host:
    host = world.host(settings, **{"approvers": ["boss", "chief"], "several_users": True, **options})
    await host.start()
    return host


async def code_of_refusal(host: Host, approval: str, decision: Decision, by: str) -> str:
    with pytest.raises(DecisionRefused) as refused:
        await host.approvals.decide(approval, decision, by)
    return refused.value.code


@pytest.mark.parametrize("decision", [APPROVE, EDIT])
async def test_who_asked_cannot_let_their_own_critical_call_run(world, decision: Decision) -> None:
    host = await start(world)
    approval = await world.suspended(host, await world.send(host, "Wreck all"))
    assert await code_of_refusal(host, approval, decision, "ada") == "operator_needed"
    assert (await world.store.approvals.get(approval)).decision is None
    assert (await world.store.approvals.get(approval)).request.needs_operator


async def test_who_asked_may_reject_it(world) -> None:
    host = await start(world)
    receipt = await world.send(host, "Wreck all")
    await host.approvals.decide(await world.suspended(host, receipt), REJECT, "ada")
    await world.ended(receipt)
    assert world.wrecked == []


async def test_an_operator_lets_it_run(world) -> None:
    host = await start(world)
    receipt = await world.send(host, "Wreck all")
    await host.approvals.decide(await world.suspended(host, receipt), APPROVE, "boss")
    await world.ended(receipt)
    assert world.wrecked == ["all"]


async def test_a_call_of_high_risk_is_still_decided_by_who_asked(world) -> None:
    host = await start(world)
    receipt = await world.send(host, "Pay Bob")
    await host.approvals.decide(await world.suspended(host, receipt), APPROVE, "ada")
    await world.ended(receipt)
    assert world.paid == ["Bob"]


async def test_automatic_approval_does_not_replace_the_operator(world) -> None:
    host = await start(world, {"Approval": {"AutoApproveUpTo": "Critical"}})
    approval = await world.suspended(host, await world.send(host, "Wreck all"))
    assert world.wrecked == []
    assert await code_of_refusal(host, approval, APPROVE, "ada") == "operator_needed"


async def test_automatic_approval_holds_for_an_operator_and_for_a_single_user(world) -> None:
    host = await start(world, {"Approval": {"AutoApproveUpTo": "Critical"}}, approvers=["ada"])
    await world.ended(await world.send(host, "Wreck all"))
    assert world.wrecked == ["all"]


async def test_who_asked_cannot_approve_a_plan_with_a_critical_step(world) -> None:
    world.plan_risk = "critical"
    host = await start(world)
    approval = await world.suspended(host, await world.send(host, "plan", planning="Always"))
    assert (await world.store.approvals.get(approval)).request.kind == "plan"
    assert await code_of_refusal(host, approval, APPROVE, "ada") == "operator_needed"


@pytest.mark.parametrize("risk", ["low", "high", "critical"])
async def test_a_critical_call_of_a_plans_step_is_asked_about_on_its_own(world, risk: str) -> None:
    world.plan_risk = risk
    host = await start(world)
    receipt = await world.send(host, "plan", planning="Always")
    approval = await world.suspended(host, receipt)
    if (await world.store.approvals.get(approval)).request.kind == "plan":
        await host.approvals.decide(approval, APPROVE, "boss")
        approval = (await world.suspended_again(receipt, starts=2)).waiting_for[0]
    assert (await world.store.approvals.get(approval)).request.tool == "wreck"
    assert await code_of_refusal(host, approval, APPROVE, "ada") == "operator_needed"
    assert world.wrecked == []


async def test_with_four_eyes_an_operator_needs_another_one(world) -> None:
    settings = {"Approval": {"FourEyes": True}}
    host = await start(world, settings, approvers=["ada", "boss"], several_users=False)
    receipt = await world.send(host, "Wreck all")
    approval = await world.suspended(host, receipt)
    assert await code_of_refusal(host, approval, APPROVE, "ada") == "operator_needed"
    await host.approvals.decide(approval, APPROVE, "boss")
    await world.ended(receipt)
    assert world.wrecked == ["all"]


async def test_the_single_user_of_a_host_approves_their_own_critical_call(world) -> None:
    host = await start(world, approvers=[LOCAL_USER], several_users=False)
    receipt = await world.send(host, "Wreck all")
    await host.approvals.decide(await world.suspended(host, receipt), APPROVE, "ada")
    await world.ended(receipt)
    assert world.wrecked == ["all"]


async def decided_while_stopped(world, request: str, by: str) -> tuple[object, str]:
    """A decision that the store holds, as other settings took it, and no host has used."""
    first = await start(world)
    receipt = await world.send(first, request)
    approval = await world.suspended(first, receipt)
    await first.shutdown()
    await world.store.approvals.decide(approval, Decision.approve(decided_by=by), world.clock.now())
    return receipt, approval


@pytest.mark.parametrize(
    ("request_", "by", "approvers"),
    [("Wreck all", "ada", ["boss"]), ("Wreck all", "was-boss", ["boss"]), ("Pay Bob", "was-boss", ["boss"]),
     ("Wreck all", "", ["boss"]), ("Wreck all", "local", ["boss"])],
)  # fmt: skip
async def test_an_approval_that_does_not_count_any_more_is_asked_again(
    world, request_: str, by: str, approvers: list[str]
) -> None:
    receipt, void = await decided_while_stopped(world, request_, by)
    second = await start(world, approvers=approvers)
    again = (await world.suspended_again(receipt, starts=2)).waiting_for[0]
    assert (world.wrecked, world.paid) == ([], [])
    assert again != void
    assert [record.request.id for record in await world.store.approvals.list()] == [again]

    async def announced() -> bool:
        return again in [event.approval_id for event in world.events.of(ApprovalRequested)]

    await world.until(announced)
    await second.approvals.decide(again, APPROVE, "boss")
    await world.ended(receipt)
    assert world.wrecked + world.paid in (["all"], ["Bob"])


async def test_a_question_that_is_asked_again_is_stored_with_its_event(world) -> None:
    receipt, void = await decided_while_stopped(world, "Wreck all", "was-boss")
    get, announced = world.store.approvals.get, {}

    async def get_and_look(approval_id: str) -> object:
        record = await get(approval_id)
        if approval_id not in announced:
            events = await world.store.events.list_after(record.request.session_id, 0)
            asked = [event.data["approval_id"] for event in events if event.name == "approval_requested"]
            announced[approval_id] = approval_id in asked
        return record

    world.store.approvals.get = get_and_look
    await start(world)
    again = (await world.suspended_again(receipt, starts=2)).waiting_for[0]
    assert again != void
    assert announced[again]


async def test_a_rejection_counts_whoever_gave_it(world) -> None:
    first = await start(world)
    receipt = await world.send(first, "Wreck all")
    approval = await world.suspended(first, receipt)
    await first.shutdown()
    await world.store.approvals.decide(approval, Decision.reject(decided_by="was-boss"), world.clock.now())
    await start(world)
    await world.ended(receipt)
    assert len(await world.store.approvals.list(open_only=False)) == 1


async def test_who_can_open_the_store_is_an_operator(world) -> None:
    receipt, _ = await decided_while_stopped(world, "Wreck all", STORE_OPERATOR)
    await start(world)
    await world.ended(receipt)
    assert world.wrecked == ["all"]
