"""What every store promises about runs."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import ChangedMeanwhile, InputError, NotFound, SessionTaken
from sophon.messages import Message, ToolCall, Usage
from sophon.stores import SessionRecord, Store
from sophon.stores.unit_of_work import UnitOfWork
from sophon.stores.usage.contract import Period, UsageRow
from sophon.testing import VirtualClock
from sophon.tools.tool import Risk
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import (
    InboundKey,
    LogWrite,
    OutdatedRun,
    PendingRun,
    Precondition,
    Run,
    RunError,
    RunOutcome,
)
from sophon_hosting.store.runs.sql_transactions import checkpoint_write
from tests.units_of_work import store_checkpoint

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = InboundKey("telegram", "bot-1", "42")
STATE = {"messages": [{"role": "user", "content": "hi \ud83d"}], "iteration": 3}
ANSWER = {"text": "hello", "finish_reason": "stop", "usage": {"input_tokens": 3}}
COMPLETED = RunOutcome("completed", ANSWER)
FAILED = RunOutcome("failed", error=RunError("model", "it broke", "err-1"))
CANCELLED = RunOutcome("cancelled")


def message(name: str = "r", session_id: str = "s", owner: str = "ada") -> Run:
    origin, options = {"chat": 7, "thread": None}, {"stream": True, "model": "gpt-5"}
    return Run(name, session_id, owner, "telegram", origin, f"hello from {name}", options)


def part(name: str, position: int = 0) -> OutboundEntry:
    return OutboundEntry(name, None, "telegram", "bot-1", "7", "text", {"text": name}, position)


def said(text: str) -> SessionRecord:
    return SessionRecord("message", "r", Message("assistant", text))


async def accepted(store: Store, *names: str) -> None:
    for name in names:
        await store.runs.accept(message(name))


def asked(name: str, step: str = "") -> ApprovalRequest:
    return ApprovalRequest.from_call(ToolCall("c1", "pay", {}), f"{name}{step}", Risk.HIGH, session_id="s")


async def waiting(store: Store, *names: str, step: str = "") -> None:
    """Runs that wait for a person, each in a session of its own."""
    for name in names:
        await store.runs.accept(message(name, f"s{name}"))
        await store.runs.begin(name, NOON)
        await store.approvals.get_or_create(asked(name, step), NOON)
        await store.runs.suspend(name, STATE, [asked(name, step).id])


async def test_an_accepted_message_is_a_queued_run(store: Store, clock: VirtualClock):
    answer = await store.runs.accept(message(), KEY)
    run = answer.run
    assert answer.created
    assert (run.id, run.session_id, run.owner, run.channel) == ("r", "s", "ada", "telegram")
    assert (run.text, run.origin, run.options) == (message().text, message().origin, message().options)
    assert (run.status, run.starts, run.is_finished, run.cancel_requested) == ("queued", 0, False, False)
    assert (run.created_at, run.started_at, run.finished_at) == (clock.now(), None, None)
    assert await store.runs.get("r") == run


async def prepare(store: Store, kind: str) -> tuple[Precondition, Callable[[], Awaitable[object]]]:
    """Store what a run may be accepted for; return it as it was read, and how it is changed."""
    await store.sessions.get_or_create("home", "ada")
    if kind == "goal":
        goal = await stored_goals(store).add(Goal("x", "ada", "Title", "Words", session_id="home", created_at=NOON))
        assert goal is not None
        return Precondition("goal", "x", goal.version), lambda: stored_goals(store).change(goal)
    if kind == "schedule":
        schedule = Schedule("x", "ada", "home", "hub", "text", "interval", "60", "UTC", NOON, "ada")
        await stored_schedules(store).add(schedule)
        return Precondition("schedule", "x", schedule.version), lambda: stored_schedules(store).update(schedule)
    await store.runs.accept(message("x", "home"))
    return Precondition("run", "x", 0), lambda: store.runs.begin("x", NOON)


@pytest.mark.parametrize("kind", ["goal", "schedule", "run"])
async def test_a_run_is_accepted_while_what_it_is_for_is_as_it_was_read(store: Store, kind: str):
    precondition, _ = await prepare(store, kind)
    assert (await store.runs.accept(message(), KEY, precondition=precondition)).created


@pytest.mark.parametrize("way", ["changed", "deleted"])
@pytest.mark.parametrize("kind", ["goal", "schedule", "run"])
async def test_no_run_is_accepted_for_what_was_changed_or_deleted(store: Store, kind: str, way: str):
    precondition, change = await prepare(store, kind)
    await (change() if way == "changed" else store.sessions.delete("home"))
    with pytest.raises(ChangedMeanwhile, match=f"the {kind} 'x' was changed or deleted meanwhile"):
        await store.runs.accept(message(), KEY, precondition=precondition)
    assert (await store.runs.find("r"), await store.sessions.find("s")) == (None, None)
    assert await store.runs.find_by_key(KEY) is None


@pytest.mark.parametrize("kind", ["goal", "schedule", "run"])
async def test_what_was_accepted_before_is_found_by_its_key_although_what_it_is_for_has_changed(
    store: Store, kind: str
):
    precondition, change = await prepare(store, kind)
    await store.runs.accept(message(), KEY, precondition=precondition)
    await change()
    again = await store.runs.accept(message("other"), KEY, precondition=precondition)
    assert (again.run.id, again.created) == ("r", False)


async def test_the_same_key_gives_the_same_run(store: Store):
    first = await store.runs.accept(message(), KEY)
    await store.runs.begin("r", NOON)
    again = await store.runs.accept(message("other", "elsewhere"), KEY)
    assert (again.run.id, again.run.status, again.created) == (first.run.id, "running", False)
    assert [run.id for run in await store.runs.list()] == ["r"]
    assert await store.sessions.list("ada") == [await store.sessions.get("s")]


@pytest.mark.parametrize(
    "other",
    [InboundKey("whatsapp", "bot-1", "42"), InboundKey("telegram", "bot-2", "42"), InboundKey("telegram", "bot-1", "")],
)
async def test_each_part_of_a_key_tells_messages_apart(store: Store, other: InboundKey):
    await store.runs.accept(message("a"), KEY)
    assert (await store.runs.accept(message("b"), other)).created


async def test_messages_without_a_key_are_all_different(store: Store):
    assert (await store.runs.accept(message("a"))).created
    assert (await store.runs.accept(message("b"))).created


async def test_of_fifty_deliveries_at_once_one_is_accepted(store: Store):
    deliveries = [store.runs.accept(message(f"r{n}"), KEY) for n in range(50)]
    answers = await asyncio.gather(*deliveries)
    assert sum(answer.created for answer in answers) == 1
    assert len({answer.run.id for answer in answers}) == 1
    assert len(await store.runs.list_unfinished()) == 1


async def test_a_run_id_that_is_taken_is_refused_with_its_key(store: Store):
    await store.runs.accept(message(), KEY)
    with pytest.raises(InputError, match="'r' exists already"):
        await store.runs.accept(message("r", "elsewhere"), InboundKey("telegram", "bot-1", "43"))
    assert (await store.runs.accept(message("q"), InboundKey("telegram", "bot-1", "43"))).created
    with pytest.raises(NotFound):
        await store.sessions.get("elsewhere")


async def test_accepting_makes_the_session_and_its_owner_stays(store: Store):
    await store.runs.accept(message("a", owner="ada"))
    await store.runs.accept(message("b", owner="bob"))
    summary = await store.sessions.get("s")
    assert (summary.owner, summary.message_count) == ("ada", 0)
    assert (await store.sessions.load_history("s")).messages == []


async def test_order_increases_over_all_sessions(store: Store):
    orders = [(await store.runs.accept(message(f"r{n}", f"s{n % 2}"))).run.order for n in range(5)]
    assert orders == sorted(set(orders))


async def test_an_order_is_never_given_again(store: Store):
    last = (await store.runs.accept(message("a"))).run.order
    await store.sessions.delete("s")
    assert (await store.runs.accept(message("b"))).run.order > last


async def test_what_the_caller_does_to_its_own_data_changes_no_run(store: Store):
    origin = {"chat": 7}
    await store.runs.accept(Run("r", "s", origin=origin))
    origin["chat"] = 8
    assert (await store.runs.get("r")).origin == {"chat": 7}


async def test_beginning_starts_a_queued_run(store: Store):
    await accepted(store, "r")
    answer = await store.runs.begin("r", NOON)
    assert answer.verdict == "begun"
    assert (answer.run.status, answer.run.starts, answer.run.started_at) == ("running", 1, NOON)
    assert await store.runs.get("r") == answer.run


async def test_a_run_that_was_left_running_is_begun_again(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    await store_checkpoint(store, "r", STATE)
    answer = await store.runs.begin("r", NOON + timedelta(hours=1))
    assert (answer.verdict, answer.run.starts, answer.run.started_at) == ("begun", 2, NOON)
    assert answer.run.checkpoint == STATE


async def test_a_suspended_run_goes_on_from_its_checkpoint(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    run = await store.runs.suspend("r", STATE, ["apr_1", "apr_2"])
    assert (run.status, run.checkpoint, run.waiting_for) == ("suspended", STATE, ("apr_1", "apr_2"))
    assert await store.runs.get("r") == run
    again = (await store.runs.begin("r", NOON)).run
    assert (again.status, again.starts, again.checkpoint, again.waiting_for) == ("running", 2, STATE, ())


@pytest.mark.parametrize("outcome", [COMPLETED, FAILED, CANCELLED])
async def test_a_run_that_is_over_is_not_begun(store: Store, outcome: RunOutcome):
    await accepted(store, "r")
    await store.runs.finish("r", outcome)
    before = await store.runs.get("r")
    answer = await store.runs.begin("r", NOON)
    assert (answer.verdict, answer.run) == ("over", before)
    assert await store.runs.get("r") == before


async def test_a_run_that_is_to_end_is_not_begun(store: Store):
    await accepted(store, "r")
    asked = await store.runs.request_cancel("r")
    assert (asked.status, asked.cancel_requested) == ("queued", True)
    answer = await store.runs.begin("r", NOON)
    assert (answer.verdict, answer.run) == ("cancelled", asked)


async def test_a_checkpoint_is_replaced_by_the_next(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    await store_checkpoint(store, "r", {"iteration": 1})
    await store_checkpoint(store, "r", STATE)
    assert (await store.runs.get("r")).checkpoint == STATE


async def test_the_logs_of_checkpoints_grow_and_are_replaced_from_an_entry_on(store: Store):
    await accepted(store, "r", "other")
    await store.runs.begin("r", NOON)
    assert await store.runs.load_logs("r") == {}
    await store_checkpoint(store, "r", STATE, [LogWrite(1, 0, [{"a": 1}, "two \ud83d"]), LogWrite(0, 0, ["x"])])
    await store_checkpoint(store, "r", STATE, [LogWrite(1, 2, [3])])
    assert await store.runs.load_logs("r") == {0: ["x"], 1: [{"a": 1}, "two \ud83d", 3]}

    await store_checkpoint(store, "r", {"n": 1}, [LogWrite(1, 1, ["new"]), LogWrite(0, 0)])
    assert await store.runs.load_logs("r") == {1: [{"a": 1}, "new"]}
    await store_checkpoint(store, "r", {"n": 1}, [LogWrite(1, 1, ["new"])])  # nobody knew that it was stored
    assert await store.runs.load_logs("r") == {1: [{"a": 1}, "new"]}
    assert (await store.runs.get("r")).checkpoint == {"n": 1}
    assert await store.runs.load_logs("other") == {}


async def test_a_suspended_run_has_its_logs_until_its_outcome(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    await store_checkpoint(store, "r", STATE, [LogWrite(1, 0, ["a"])])
    await store.runs.suspend("r", STATE, ["apr_1"], [LogWrite(1, 1, ["b"])])
    assert await store.runs.load_logs("r") == {1: ["a", "b"]}
    await store.runs.begin("r", NOON)
    await store.runs.suspend("r", STATE, ["apr_1"])
    assert await store.runs.load_logs("r") == {1: ["a", "b"]}
    await store.runs.finish("r", COMPLETED)
    assert await store.runs.load_logs("r") == {}


async def test_the_logs_of_a_run_go_with_its_session(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    await store_checkpoint(store, "r", STATE, [LogWrite(1, 0, ["a"])])
    await store.sessions.delete("s")
    with pytest.raises(NotFound):
        await store.runs.load_logs("r")
    await accepted(store, "r")
    assert await store.runs.load_logs("r") == {}


async def begin(store: Store) -> None:
    await store.runs.begin("r", NOON)


async def end(store: Store) -> None:
    await store.runs.finish("r", CANCELLED)


async def wait(store: Store) -> None:
    await begin(store)
    await store.runs.suspend("r", {"iteration": 1}, ["apr_1"])


async def nothing(store: Store) -> None:
    pass


@pytest.mark.parametrize("before", [nothing, wait, end])
async def test_only_a_running_run_is_written_down_or_suspended(
    store: Store, before: Callable[[Store], Awaitable[None]]
):
    await accepted(store, "r")
    await before(store)
    was = await store.runs.get("r")
    await store_checkpoint(store, "r", STATE, [LogWrite(1, 0, ["a"])])
    assert await store.runs.suspend("r", STATE, ["apr_2"], [LogWrite(1, 0, ["a"])]) == was
    assert await store.runs.get("r") == was
    assert await store.runs.load_logs("r") == {}


async def test_a_request_to_cancel_is_seen_by_who_suspends(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    assert (await store.runs.request_cancel("r")).status == "running"
    run = await store.runs.suspend("r", STATE, ["apr_1"])
    assert (run.status, run.cancel_requested) == ("suspended", True)


async def test_a_run_that_is_over_cannot_be_cancelled_any_more(store: Store):
    await accepted(store, "r")
    await store.runs.finish("r", COMPLETED)
    run = await store.runs.request_cancel("r")
    assert (run.status, run.cancel_requested) == ("completed", False)


@pytest.mark.parametrize("outcome", [COMPLETED, FAILED, CANCELLED, RunOutcome("cancelled", ANSWER)])
@pytest.mark.parametrize("before", [nothing, begin, wait])
async def test_a_run_ends_from_wherever_it_is(
    store: Store, clock: VirtualClock, before: Callable[[Store], Awaitable[None]], outcome: RunOutcome
):
    await accepted(store, "r")
    await before(store)
    assert (await store.runs.finish("r", outcome)).is_first
    run = await store.runs.get("r")
    assert (run.status, run.response, run.error) == (outcome.status, outcome.response, outcome.error)
    assert (run.is_finished, run.finished_at, run.checkpoint, run.waiting_for) == (True, clock.now(), None, ())


async def test_the_outcome_answer_entries_and_events_are_kept_together(store: Store):
    await accepted(store, "r")
    await store.events.append("s", [LoggedEvent("task_queued", {"position": 0}, "r")])
    events = [LoggedEvent("message", {"content": "hello"}, "r"), LoggedEvent("task_completed", {}, "r")]
    parts = [part("second", 1), part("first")]
    answer = await store.runs.finish(
        "r", COMPLETED, records=[said("hello")], outbound=parts, events=lambda recorded: events
    )
    assert (answer.is_first, answer.seq, answer.last_record_seq) == (True, 3, 1)
    assert [m.content for m in (await store.sessions.load_history("s")).messages] == ["hello"]
    assert [entry.id for entry in await store.outbox.list(run_id="r")] == ["first", "second"]
    assert [event.name for event in await store.events.list_after("s", 1)] == ["message", "task_completed"]


async def test_finishing_twice_changes_nothing_and_says_so(store: Store):
    await accepted(store, "r")
    await store.runs.finish("r", CANCELLED, events=lambda recorded: [LoggedEvent("task_cancelled", {}, "r")])
    before = await store.runs.get("r")
    late = [LoggedEvent("task_completed", {}, "r")]
    answer = await store.runs.finish(
        "r", COMPLETED, records=[said("x")], outbound=[part("x")], events=lambda recorded: late
    )
    assert (answer.is_first, answer.seq) == (False, 1)
    assert await store.runs.get("r") == before
    assert (await store.sessions.load_history("s")).messages == []
    assert (await store.outbox.list(), await store.events.last_seq("s")) == ([], 1)


async def test_the_usage_of_a_turn_is_kept_with_its_outcome_and_that_of_a_late_one_too(store: Store):
    await accepted(store, "r")
    used = UsageRow("p", "m", "reply", "s", "r", Usage(20, 5), Period("2026-01-31", "2026-01"), NOON, 2)
    with pytest.raises(ValueError, match="needs a message"):
        await store.runs.finish("r", COMPLETED, records=[SessionRecord("message", "r")], usage=[used])
    assert await store.usage.list_totals() == []
    for outcome in (COMPLETED, CANCELLED):
        await store.runs.finish("r", outcome, usage=[used])
    assert [(total.calls, total.usage) for total in await store.usage.list_totals()] == [(4, Usage(40, 10))]


async def test_of_twenty_outcomes_at_once_one_is_seen(store: Store):
    await accepted(store, "r")
    outcomes = [COMPLETED, FAILED, CANCELLED, COMPLETED] * 5
    endings = [
        store.runs.finish(
            "r",
            outcome,
            records=[said(str(n))],
            outbound=[part(str(n))],
            events=lambda recorded: [LoggedEvent("e", {})],
        )
        for n, outcome in enumerate(outcomes)
    ]
    answers = await asyncio.gather(*endings)
    (winner,) = [n for n, answer in enumerate(answers) if answer.is_first]
    assert (await store.runs.get("r")).status == outcomes[winner].status
    assert [m.content for m in (await store.sessions.load_history("s")).messages] == [str(winner)]
    assert [entry.id for entry in await store.outbox.list()] == [str(winner)]
    assert await store.events.last_seq("s") == 1


async def test_an_outcome_that_cannot_be_kept_leaves_the_run_as_it_was(store: Store):
    await accepted(store, "r")
    await store.runs.begin("r", NOON)
    before = await store.runs.get("r")
    with pytest.raises(ValueError, match="needs a message"):
        await store.runs.finish(
            "r", COMPLETED, records=[said("a"), SessionRecord("message", "r")], outbound=[part("x")]
        )
    assert await store.runs.get("r") == before
    assert (await store.sessions.load_history("s")).messages == []
    assert await store.outbox.list() == []


@pytest.mark.parametrize(("status", "problem"), [("completed", "a response"), ("failed", "an error")])
def test_an_outcome_says_what_came_of_it(status: str, problem: str):
    with pytest.raises(ValueError, match=f"needs {problem}"):
        RunOutcome(status)  # type: ignore[arg-type]


async def test_a_run_is_found_by_the_key_it_was_accepted_with(store: Store):
    await store.runs.accept(message("a"), KEY)
    await store.runs.accept(message("b"))
    found = await store.runs.find_by_key(KEY)
    assert found is not None
    assert found == await store.runs.get("a")
    for other in (InboundKey("mail", "bot-1", "42"), InboundKey("telegram", "bot-2", "42")):
        assert await store.runs.find_by_key(other) is None
    await store.sessions.delete("s")
    assert await store.runs.find_by_key(KEY) is None


async def test_unfinished_runs_come_in_the_order_of_acceptance(store: Store):
    for name in "dcba":
        await store.runs.accept(message(name, name))
    await store.runs.begin("b", NOON)
    await store.runs.suspend("b", STATE, ["apr_1"])
    await store.runs.begin("d", NOON)
    await store.runs.finish("c", COMPLETED)
    found = await store.runs.list_unfinished()
    assert [(run.id, run.status) for run in found] == [("d", "running"), ("b", "suspended"), ("a", "queued")]
    assert found[1].checkpoint == STATE


async def test_the_unfinished_runs_of_one_session_are_those_of_no_other(store: Store):
    for name, session in (("a", "s"), ("b", "t"), ("c", "s")):
        await store.runs.accept(message(name, session))
    await store.runs.finish("a", CANCELLED)
    assert [run.id for run in await store.runs.list_unfinished("s")] == ["c"]
    assert await store.runs.list_unfinished("unknown") == []


async def test_queued_runs_are_pending_until_they_begin(store: Store):
    await accepted(store, "b", "a")
    assert await store.runs.list_pending() == [PendingRun("b", False, "s", "ada"), PendingRun("a", False, "s", "ada")]
    await store.runs.begin("b", NOON)
    assert await store.runs.list_pending() == [PendingRun("a", False, "s", "ada")]


async def test_runs_that_wait_for_people_are_not_pending(store: Store):
    await waiting(store, *(f"r{n}" for n in range(20)))
    assert await store.runs.list_pending() == []


async def test_a_decision_makes_its_waiting_run_pending_until_it_begins_again(store: Store):
    await waiting(store, "a", "b")
    await store.approvals.decide(asked("b").id, Decision.approve(decided_by="ada"), NOON)
    assert await store.runs.list_pending() == [PendingRun("b", True, "sb", "ada")]
    await store.runs.begin("b", NOON)
    assert await store.runs.list_pending() == []


async def test_a_decision_while_the_run_is_running_is_kept_for_its_suspension(store: Store):
    await accepted(store, "a")
    await store.runs.begin("a", NOON)
    await store.approvals.get_or_create(asked("a"), NOON)
    await store.approvals.decide(asked("a").id, Decision.approve(decided_by="ada"), NOON)
    await store.runs.suspend("a", STATE, [asked("a").id])
    assert await store.runs.list_pending() == [PendingRun("a", True, "s", "ada")]


async def test_a_decision_for_a_plan_step_makes_the_plans_run_pending(store: Store):
    await waiting(store, "a", step="/step-1")
    await store.approvals.decide(asked("a", "/step-1").id, Decision.reject("no"), NOON)
    assert await store.runs.list_pending() == [PendingRun("a", True, "sa", "ada")]


async def test_a_cancellation_makes_a_run_pending_until_its_outcome(store: Store):
    await waiting(store, "a")
    await accepted(store, "b")
    for name in "ab":
        await store.runs.request_cancel(name)
        await store.runs.begin(name, NOON)
    assert await store.runs.list_pending() == [PendingRun("a", True, "sa", "ada"), PendingRun("b", True, "s", "ada")]
    await store.runs.finish("a", CANCELLED)
    await store.runs.finish("b", CANCELLED)
    await store.runs.request_cancel("a")
    assert await store.runs.list_pending() == []


async def test_a_decision_after_the_outcome_makes_nothing_pending(store: Store):
    await waiting(store, "a")
    await store.runs.finish("a", CANCELLED)
    await store.approvals.decide(asked("a").id, Decision.reject("it has ended"), NOON)
    assert await store.runs.list_pending() == []


async def test_a_run_that_is_suspended_without_a_question_is_pending(store: Store):
    await accepted(store, "a")
    await store.runs.begin("a", NOON)
    await store.runs.suspend("a", STATE, [])
    assert await store.runs.list_pending() == [PendingRun("a", True, "s", "ada")]


async def test_runs_are_listed_the_newest_first_and_by_what_is_asked_for(store: Store):
    for name, session, owner in (("a", "s", "ada"), ("b", "t", "bob"), ("c", "s", "ada"), ("d", "t", "ada")):
        await store.runs.accept(message(name, session, owner))
    await store.runs.begin("a", NOON)

    async def ids(**wanted: object) -> str:
        return "".join(run.id for run in await store.runs.list(**wanted))  # type: ignore[arg-type]

    assert (await ids(), await ids(limit=2), await ids(limit=0)) == ("dcba", "dc", "")
    assert (await ids(session_id="s"), await ids(owner="ada"), await ids(status="queued")) == ("ca", "dca", "dcb")
    assert await ids(session_id="t", owner="ada", status="queued") == "d"
    assert (await ids(session_id="u"), await ids(owner="eve")) == ("", "")
    assert (await ids(before="c"), await ids(before="d", owner="ada", limit=1), await ids(before="a")) == (
        "ba",
        "c",
        "",
    )
    with pytest.raises(NotFound):
        await ids(before="unknown")


async def test_unknown_runs_are_not_found(store: Store):
    runs = store.runs
    for call in (
        runs.get("x"),
        runs.begin("x", NOON),
        runs.record("s", UnitOfWork([checkpoint_write("x", {})]), []),
        runs.suspend("x", {}, []),
        runs.finish("x", CANCELLED),
        runs.request_cancel("x"),
        runs.load_logs("x"),
    ):
        with pytest.raises(NotFound):
            await call


async def test_an_unknown_run_names_the_near_ones(store: Store):
    await accepted(store, "run-4711")
    with pytest.raises(NotFound, match="did you mean 'run-4711'"):
        await store.runs.get("run-4712")


@pytest.mark.parametrize("text", ["größe 🐱 猫", "nul \x00 in it", "lone \ud83d surrogate", "\x1a0041", " \n\t"])
async def test_any_text_comes_back(store: Store, text: str):
    key = InboundKey(text, text, text)
    new = Run(text, text, text, text, {text: text}, text, {text: [text]})
    await store.runs.accept(new, key)
    assert not (await store.runs.accept(message("other"), key)).created
    await store.runs.begin(text, NOON)
    await store.runs.suspend(text, {text: text}, [text])
    found = await store.runs.get(text)
    assert (found.session_id, found.owner, found.channel, found.text) == (text, text, text, text)
    assert (found.origin, found.options) == (new.origin, new.options)
    assert (found.checkpoint, found.waiting_for) == ({text: text}, (text,))
    await store.runs.finish(text, RunOutcome("failed", {text: text}, RunError(text, text, text)))
    over = (await store.runs.list(session_id=text, owner=text))[0]
    assert (over.response, over.error) == ({text: text}, RunError(text, text, text))


async def test_many_messages_of_many_sessions_at_once_lose_nothing(store: Store):
    async def whole_life(n: int) -> None:
        name, session = f"r{n}", f"s{n % 5}"
        await store.runs.accept(message(name, session), InboundKey("hub", "ada", name))
        await store.runs.begin(name, NOON)
        await store_checkpoint(store, name, STATE)
        await store.runs.finish(name, COMPLETED, records=[said(name)], events=completed(name))

    await asyncio.gather(*(whole_life(n) for n in range(50)))
    assert len(await store.runs.list(status="completed")) == 50
    assert await store.runs.list_unfinished() == []
    for n in range(5):
        assert len((await store.sessions.load_history(f"s{n}")).messages) == 10
        assert [event.seq for event in await store.events.list_after(f"s{n}", 0)] == list(range(1, 11))


def completed(run_id: str):
    return lambda recorded: [LoggedEvent("task_completed", {}, run_id)]


async def test_the_last_events_are_made_of_the_seq_of_the_last_record(store):
    await store.runs.accept(message("r"))
    await store.sessions.append("s", [said("before")])

    await store.runs.finish(
        "r", COMPLETED, records=[said("one"), said("two")], events=lambda recorded: [LoggedEvent("e", {"at": recorded})]
    )

    assert [event.data for event in await store.events.list_after("s", 0)] == [{"at": 3}]


async def test_a_run_is_accepted_only_into_a_session_of_the_owner_it_is_meant_for(store: Store):
    await store.sessions.get_or_create("s", "bob")
    with pytest.raises(SessionTaken):
        await store.runs.accept(message(), KEY, session_owner="ada")
    assert await store.runs.list() == []
    assert (await store.runs.accept(message(), KEY, session_owner="bob")).created
    assert (await store.runs.accept(message("q", "group"), session_owner="telegram:chat:7")).created
    assert (await store.sessions.get("group")).owner == "telegram:chat:7"


async def test_a_run_is_found_or_not(store: Store):
    run = (await store.runs.accept(message())).run
    assert (await store.runs.find("r"), await store.runs.find("q")) == (run, None)


async def test_large_options_come_back_in_a_run_and_in_a_list(store: Store) -> None:
    options = {"stream": True, "images": [{"data": "QUJD" * 5000, "media_type": "image/png"}]}
    await store.runs.accept(Run("r", "s", "ada", options=options))
    assert (await store.runs.get("r")).options == options
    assert [run.options for run in await store.runs.list_unfinished()] == [options]
    [head] = await store.runs.list(whole=False)
    assert head.options["stream"] is True


async def test_the_runs_of_an_account_are_listed_by_their_external_ids_last_first(store: Store):
    for name, external_id in (("a", "2026-01-01"), ("b", "2026-01-03"), ("c", "2026-01-02")):
        await store.runs.accept(message(name), InboundKey("schedule", "sch_1", external_id))
    await store.runs.accept(message("d"), InboundKey("schedule", "sch_2", "2026-01-04"))
    await store.runs.accept(message("e"), KEY)
    found = await store.runs.list_by_account("schedule", "sch_1", 2)
    assert [(key.external_id, run.id, run.status) for key, run in found] == [
        ("2026-01-03", "b", "queued"),
        ("2026-01-02", "c", "queued"),
    ]
    assert await store.runs.list_by_account("schedule", "sch_3", 2) == []
    await store.sessions.delete("s")
    assert await store.runs.list_by_account("schedule", "sch_1", 2) == []


async def test_the_text_of_a_run_that_has_not_started_is_replaced(store: Store):
    await accepted(store, "r")
    assert await store.runs.replace_text("r", "better", {"chat": 8})
    run = await store.runs.get("r")
    assert (run.text, run.origin, run.status, run.starts) == ("better", {"chat": 8}, "queued", 0)


async def test_the_text_of_a_run_that_has_started_was_cancelled_or_has_ended_stays(store: Store):
    await accepted(store, "r")
    await store.runs.accept(message("q", "elsewhere"))
    await store.runs.begin("r", NOON)
    await store.runs.request_cancel("q")
    for name in ("r", "q"):
        assert not await store.runs.replace_text(name, "better", {})
        assert (await store.runs.get(name)).text == f"hello from {name}"
    await store.runs.finish("r", COMPLETED)
    assert not await store.runs.replace_text("r", "better", {})
    with pytest.raises(NotFound):
        await store.runs.replace_text("nobody", "better", {})


async def test_a_run_does_not_begin_with_a_text_that_was_replaced(store: Store):
    await accepted(store, "r")
    await store.runs.replace_text("r", "better", {})
    with pytest.raises(OutdatedRun):
        await store.runs.begin("r", NOON, seen_starts=0, seen_text="hello from r", records=[said("no")])
    assert (await store.runs.get("r")).status == "queued"
    assert await store.sessions.list_records("s") == []
    assert (await store.runs.begin("r", NOON, seen_starts=0, seen_text="better")).verdict == "begun"


async def test_of_a_replacement_and_a_begin_at_once_the_turn_has_what_the_store_says(store: Store):
    for number in range(20):
        name = f"r{number}"
        await store.runs.accept(message(name, name))
        text = f"hello from {name}"
        begun, replaced = await asyncio.gather(
            store.runs.begin(name, NOON, seen_starts=0, seen_text=text),
            store.runs.replace_text(name, "better", {}),
            return_exceptions=True,
        )
        assert isinstance(begun, OutdatedRun) == (replaced is True)
        assert (await store.runs.get(name)).text == ("better" if replaced else text)
