"""What every store promises about questions and answers."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import NotFound
from sophon.messages import ToolCall
from sophon.stores.contract import Store
from sophon.stores.unit_of_work import UnitOfWork
from sophon.tools.tool import Risk
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run, RunOutcome, Withdrawal
from tests.units_of_work import approval_write

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def question(name: str = "c1", session_id: str = "s") -> ApprovalRequest:
    call = ToolCall(name, "mail.send", {"to": "Ada \ud83d", "n": {"deep": [1, None]}})
    expires_at = NOON + timedelta(minutes=5, microseconds=1)
    return ApprovalRequest.from_call(
        call, "run", Risk.HIGH, editable=True, expires_at=expires_at, session_id=session_id
    )


async def test_a_question_is_kept_as_it_was_asked(store: Store):
    record = ApprovalRecord(question(), NOON)
    assert await store.approvals.get_or_create(question(), NOON) == record
    assert await store.approvals.get(question().id) == record


async def test_asking_again_gives_the_first_question_with_its_answer(store: Store):
    await store.approvals.get_or_create(question(), NOON)
    decided = await store.approvals.decide(question().id, Decision.approve(decided_by="ada"), NOON)
    assert await store.approvals.get_or_create(question(), NOON + timedelta(hours=1)) == decided
    assert decided.decision == Decision.approve(decided_by="ada")


@pytest.mark.parametrize(
    "decision",
    [Decision.approve(), Decision.reject("too \ud83d risky", decided_by="ada"), Decision.edit({"to": "Bob"})],
)
async def test_an_answer_is_kept_as_it_was_given(store: Store, decision: Decision):
    await store.approvals.get_or_create(question(), NOON)
    later = NOON + timedelta(seconds=9)
    record = await store.approvals.decide(question().id, decision, later)
    assert (record.decision, record.decided_at) == (decision, later)
    assert await store.approvals.get(question().id) == record


async def test_the_first_decision_wins(store: Store):
    await store.approvals.get_or_create(question(), NOON)
    first = await store.approvals.decide(question().id, Decision.reject("no"), NOON)
    assert await store.approvals.decide(question().id, Decision.approve(), NOON + timedelta(hours=1)) == first


async def test_the_outcome_of_a_run_decides_what_it_still_asks_and_its_events_can_tell(store: Store):
    open_one, decided, of_a_step, of_another = (question(name) for name in ("open", "decided", "step", "other"))
    of_a_step, of_another = replace(of_a_step, run_id="run/a"), replace(of_another, run_id="run-2")
    await store.runs.accept(Run("run", "s"))
    for request in (open_one, decided, of_another):
        await store.approvals.get_or_create(request, NOON)
    answer = await store.approvals.decide(decided.id, Decision.approve(decided_by="ada"), NOON)
    withdrawn: list[ApprovalRequest] = []
    told: list[int] = []

    def tell(last_record_seq: int) -> list[LoggedEvent]:
        told.append(len(withdrawn))
        return []

    for _ in range(2):  # of two outcomes the first one decides
        await store.runs.finish(
            "run",
            RunOutcome("cancelled"),
            unit=UnitOfWork([approval_write(of_a_step, NOON)]),
            events=tell,
            withdrawal=Withdrawal(Decision.reject("over"), withdrawn.extend),
        )
    assert ({each.id for each in withdrawn}, told) == ({open_one.id, of_a_step.id}, [2])
    assert [(await store.approvals.get(each.id)).decision for each in withdrawn] == [Decision.reject("over")] * 2
    assert (await store.approvals.get(decided.id)).decision == answer.decision
    assert [each.request.id for each in await store.approvals.list()] == [of_another.id]


async def test_of_an_answer_and_the_outcome_at_once_one_decides(store: Store):
    withdrawn: list[ApprovalRequest] = []
    answers = []
    for number in range(20):
        request = replace(question(f"c{number}"), run_id=f"run-{number}")
        await store.runs.accept(Run(request.run_id, "s"))
        await store.approvals.get_or_create(request, NOON)
        finish = store.runs.finish(
            request.run_id,
            RunOutcome("cancelled"),
            events=lambda _: [LoggedEvent("task_cancelled", {})],
            withdrawal=Withdrawal(Decision.reject("over"), withdrawn.extend),
        )
        decide = store.approvals.decide(
            request.id, Decision.approve(), NOON, lambda: [LoggedEvent("approval_resolved", {})]
        )
        pair = (decide, finish) if number % 2 else (finish, decide)
        results = await asyncio.gather(*pair)
        answers += [each for each in results if isinstance(each, ApprovalRecord)]
    by_outcome = {each.id for each in withdrawn}
    assert {each.request.id for each in answers if not each.was_decided_now} == by_outcome
    assert all((each.decision == Decision.reject("over")) == (each.request.id in by_outcome) for each in answers)


async def test_of_fifty_decisions_at_once_one_wins(store: Store):
    await store.approvals.get_or_create(question(), NOON)
    decisions = [Decision.reject(str(n)) if n % 2 else Decision.approve(decided_by=str(n)) for n in range(50)]
    answers = await asyncio.gather(*(store.approvals.decide(question().id, each, NOON) for each in decisions))
    kept = await store.approvals.get(question().id)
    assert kept.decision in decisions
    assert all(answer == kept for answer in answers)


async def test_the_events_of_the_decision_that_counts_are_stored_with_it(store: Store):
    await store.sessions.get_or_create("s", "ada")
    await store.approvals.get_or_create(question(), NOON)
    events = [LoggedEvent("approval_resolved", {"n": number}, "run") for number in range(2)]
    first = await store.approvals.decide(question().id, Decision.approve(), NOON, lambda: events[:1])
    second = await store.approvals.decide(question().id, Decision.approve(), NOON, lambda: events[1:])
    assert [each.was_decided_now for each in (first, second)] == [True, False]
    assert [(each.seq, each.data) for each in await store.events.list_after("s", 0)] == [(first.event_seq, {"n": 0})]


async def test_a_decision_whose_events_cannot_be_stored_is_none(store: Store):
    await store.approvals.get_or_create(question(), NOON)
    event = LoggedEvent("approval_resolved", {}, "run")
    with pytest.raises(NotFound):
        await store.approvals.decide(question().id, Decision.approve(), NOON, lambda: [event])
    assert (await store.approvals.get(question().id)).decision is None


async def test_unknown_approvals_are_not_found(store: Store):
    with pytest.raises(NotFound):
        await store.approvals.get("apr_x")
    with pytest.raises(NotFound):
        await store.approvals.decide("apr_x", Decision.approve(), NOON)


async def test_open_questions_are_listed_oldest_first(store: Store):
    await store.approvals.get_or_create(question("late"), NOON + timedelta(hours=1))
    await store.approvals.get_or_create(question("early"), NOON)
    await store.approvals.get_or_create(question("answered", "t"), NOON)
    await store.approvals.decide(question("answered", "t").id, Decision.approve(), NOON)
    assert [r.request.call_id for r in await store.approvals.list()] == ["early", "late"]
    every = await store.approvals.list(open_only=False)
    assert [r.request.call_id for r in every] == ["early", "answered", "late"]
    of_session = await store.approvals.list(open_only=False, session_id="t")
    assert [r.request.call_id for r in of_session] == ["answered"]


async def test_a_question_of_any_characters_is_found_by_its_session(store: Store):
    await store.approvals.get_or_create(question(session_id="\ud83d\x00"), NOON)
    assert len(await store.approvals.list(session_id="\ud83d\x00")) == 1


async def test_a_question_is_found_or_not(store: Store):
    record = await store.approvals.get_or_create(question(), NOON)
    assert (await store.approvals.find(question().id), await store.approvals.find("other")) == (record, None)
