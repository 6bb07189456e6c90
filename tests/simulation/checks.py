"""Checks of a history: each sentence of docs/promises.md that is simulated, over what was seen from outside.

`CHECKS` names the sentence that each function checks. Nothing here looks into a host, but at what it holds when
everything is at rest.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlalchemy import select

from sophon.stores.sql.schema import reservations, spending
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.simulation.model_server import MESSAGE
from tests.simulation.people import FINAL, Chatter, WebUser
from tests.simulation.platforms import REPEAT
from tests.simulation.world import Effect, World

EVERYTHING = 10_000

AFTERMATH_SECONDS = 60.0
"""Time in which a turn may begin anew because of what happened before."""


@dataclass
class Evidence:
    """What is known of a history at its end."""

    world: World
    users: Sequence[WebUser]
    chatters: Sequence[Chatter]
    runs: Sequence[Run]
    """In the order of acceptance."""
    approvals: Sequence[ApprovalRecord]
    outbox: Sequence[OutboundEntry]
    said: dict[str, list[str]] = field(default_factory=dict)
    """What people have said in each session, as its history has it."""
    held: dict[str, object] = field(default_factory=dict)
    """What is still reserved, by what holds it."""
    spent: dict[tuple[str, str], int] = field(default_factory=dict)
    """Tokens and micro-USD by account and period."""

    def effects(self, text: str, *tools: str) -> list[Effect]:
        """Return what tools have done for a message, in order."""
        return [each for each in self.world.effects if each.text == text and (not tools or each.tool in tools)]

    def message_of(self, run: Run) -> str:
        """Return the message of the plan that a run answers."""
        found = MESSAGE.search(run.text)
        return found[0] if found else run.text


async def is_over(world: World, users: Sequence[WebUser], chatters: Sequence[Chatter]) -> bool:
    """Return whether every message has its outcome, everybody has heard of it, and nothing is left to send."""
    for user in users:
        ended = {data["task_id"] for name, data in user.heard if name in FINAL}
        if any(task not in ended for task in user.accepted.values()):
            return False
    core = world.server.core
    rows = await core.read(
        lambda connection: (
            connection.exec_driver_sql("SELECT text FROM runs").scalars().all(),
            connection.exec_driver_sql("SELECT count(*) FROM runs WHERE finished_at IS NULL").scalar_one(),
            connection.exec_driver_sql("SELECT count(*) FROM outbound WHERE open").scalar_one(),
        )
    )
    known = {found[0] for text in rows[0] if (found := MESSAGE.search(text))}
    return not (rows[1] or rows[2]) and all(each.text in known for chatter in chatters for each in chatter.sent)


async def find_violations(
    world: World, users: Sequence[WebUser], chatters: Sequence[Chatter], store: SqlHostStore
) -> list[str]:
    """Return what the history breaks, one sentence each; the world is at rest."""
    runs = sorted(await store.runs.list(limit=EVERYTHING), key=lambda run: run.order)
    evidence = Evidence(
        world,
        users,
        chatters,
        runs,
        await store.approvals.list(open_only=False),
        await store.outbox.list(limit=EVERYTHING),
    )
    for session in {run.session_id for run in runs}:
        history = await store.sessions.load_history(session)
        evidence.said[session] = [each.content for each in history.messages if each.role == "user"]
    core = world.server.core
    for account, period, amount in await core.read(
        lambda connection: connection.execute(select(spending.c.provider, spending.c.period, spending.c.amount)).all()
    ):
        evidence.spent[account, period] = amount
    async for holder, what in find_held(world):
        evidence.held[holder] = what
    return [violation for check in CHECKS for violation in check(evidence)]


async def find_held(world: World) -> AsyncIterator[tuple[str, object]]:
    """Yield what holds something, and what it holds."""
    reserved = await world.server.core.read(
        lambda connection: [each.id for each in connection.execute(select(reservations))]
    )
    yield "the store's budget reservations", reserved
    queues = [("the queue", world.broker.core)] if world.broker is not None else []
    queues += [(f"the queue of {node.name}", node.host.queue) for node in world.nodes if node.host and not world.broker]
    for name, queue in queues:
        found = await queue.statistics()
        yield f"{name}, waiting", found.waiting
        yield f"{name}, reserved", found.reserved
        yield f"{name}, in flight", found.in_flight
        yield f"{name}, held lanes", found.held_lanes
        yield f"{name}, dead letters", found.dead
    for node in world.nodes:
        if node.host is not None:
            yield f"{node.name}, running turns", node.host.running_turns


def one_outcome(evidence: Evidence) -> Iterator[str]:
    """Every accepted message ends in exactly one visible outcome; an accepted message is not lost."""
    by_id, by_text = {run.id: run for run in evidence.runs}, defaultdict[str, list[Run]](list)
    for run in evidence.runs:
        by_text[evidence.message_of(run)].append(run)
        if not run.is_finished:
            yield f"{run.text!r} has no outcome: it is {run.status}"
    for user in evidence.users:
        finals = Counter(data["task_id"] for name, data in user.heard if name in FINAL)
        for text, task in user.accepted.items():
            if task not in by_id:
                yield f"{text!r} was accepted as {task}, which is lost"
            if finals[task] != 1:
                yield f"{text!r} ended {finals[task]} times in the events of {user.session}"
    for chatter in evidence.chatters:
        for message in chatter.sent:
            if not by_text[message.text]:
                yield f"{message.text!r} was written and is lost"


def one_task(evidence: Evidence) -> Iterator[str]:
    """Send it again with the same `client_message_id`; it yields the same task. A platform's repetition is none."""
    for text, times in Counter(evidence.message_of(run) for run in evidence.runs).items():
        if times > 1:
            yield f"{text!r} became {times} tasks"


def said_once(evidence: Evidence) -> Iterator[str]:
    """What a person has written stands once in the conversation, however often its turn was begun."""
    for run in evidence.runs:
        if run.starts and (times := evidence.said[run.session_id].count(run.text)) > 1:
            yield f"{run.text!r} stands {times} times in the history of {run.session_id}"


def order(evidence: Evidence) -> Iterator[str]:
    """A session runs one turn at a time, in the order of acceptance."""
    latest: dict[str, tuple[int, str]] = {}
    by_text = {evidence.message_of(run): run for run in evidence.runs}
    for effect in evidence.world.effects:
        if (run := by_text.get(effect.text)) is None:
            continue
        before, text = latest.get(run.session_id, (-1, ""))
        if run.order < before:
            yield f"{effect.tool} for {effect.text!r} began behind that for {text!r}, which was accepted later"
        latest[run.session_id] = max((before, text), (run.order, effect.text))
    for user in evidence.users:
        orders = {run.id: run.order for run in evidence.runs}
        ended = [
            orders.get(data["task_id"], 0)
            for name, data in user.heard
            if name in FINAL and data["task_id"] in user.accepted.values() and _was_run(evidence, data["task_id"])
        ]
        if ended != sorted(ended):
            yield f"{user.session} ended its turns in another order than they were accepted"


def _was_run(evidence: Evidence, task: str) -> bool:
    """Return whether a task had begun before it ended: one that is cancelled while it waits ends at once."""
    return any(run.id == task and run.starts and not run.cancel_requested for run in evidence.runs)


def begins_once(evidence: Evidence) -> Iterator[str]:
    """Tools that finished do not run again; one that started and has no result neither, unless it is `idempotent`."""
    for (tool, text), times in Counter((each.tool, each.text) for each in evidence.world.effects).items():
        if times > 1 and tool != "look":
            yield f"{tool} began {times} times for {text!r}"


def runs_once(evidence: Evidence) -> Iterator[str]:
    """Leases are renewed while a turn runs, however long it takes: it begins anew only if something has happened."""
    disturbed_at = evidence.world.disturbed_at
    for text, times in evidence.world.models.asked.items():
        for before, again in pairwise(times):
            if not any(before - AFTERMATH_SECONDS <= at <= again for at in disturbed_at):
                yield f"the turn for {text!r} began at {before:.3f} and at {again:.3f}, and nothing had happened"


def decided_once(evidence: Evidence) -> Iterator[str]:
    """The first decision counts, and is stored in one transaction with the event that reports it."""
    stored = {each.request.id: each for each in evidence.approvals}
    for user in evidence.users:
        for approval, verdicts in user.decided.items():
            record = stored.get(approval)
            verdict = record.decision.verdict if record is not None and record.decision is not None else "none"
            if len(verdicts) > 1 or verdict != verdicts[0]:
                yield f"{approval} took {verdicts} as the first decision, and has {verdict}"
        resolved = Counter(data["approval_id"] for name, data in user.heard if name == "approval_resolved")
        for approval, times in resolved.items():
            if times > 1:
                yield f"{approval} was decided {times} times in the events of {user.session}"


def approved_before(evidence: Evidence) -> Iterator[str]:
    """An approval is bound to the exact arguments: what asks runs once it is approved, and never if it is rejected."""
    for record in evidence.approvals:
        text = str(record.request.arguments.get("text", ""))
        if record.decision is None or record.decision.verdict != "approve":
            for effect in evidence.effects(text, "pay"):
                yield f"pay ran for {text!r} at {effect.began:.3f}, of which the decision is {record.decision}"
    approved = {str(each.request.arguments.get("text", "")) for each in evidence.approvals}
    for effect in evidence.world.effects:
        if effect.tool == "pay" and effect.text not in approved:
            yield f"pay ran for {effect.text!r}, about which nobody was asked"


def events(evidence: Evidence) -> Iterator[str]:
    """Durable events have a number per session without gaps; a client gets what it missed, in order, once."""
    for user in evidence.users:
        seqs = [data["seq"] for _, data in user.heard]
        if seqs != list(range(1, len(seqs) + 1)):
            wrong = next((seq for place, seq in enumerate(seqs, 1) if seq != place), None)
            yield f"{user.session} heard events with a gap or a double at {wrong}"
        over: set[str] = set()
        for name, data in user.heard:
            task = data.get("task_id")
            if task in over and name in ("tool_started", "tool_finished", "approval_requested", *FINAL):
                yield f"{user.session} heard {name} of {task} behind its final event"
            if name in FINAL:
                over.add(str(task))


def told_as_stored(evidence: Evidence) -> Iterator[str]:
    """What a turn stores, and the events that tell of it, in one transaction."""
    by_id = {run.id: run for run in evidence.runs}
    statuses = {"task_completed": "completed", "task_failed": "failed", "task_cancelled": "cancelled"}
    for user in evidence.users:
        for name, data in user.heard:
            run = by_id.get(str(data.get("task_id")))
            if name in FINAL and run is not None and run.status != statuses[name]:
                yield f"{run.text!r} was told as {name}, and is {run.status}"


def delivered(evidence: Evidence) -> Iterator[str]:
    """Answers are stored with the outcome; what is sent to a channel arrives at least once, a repetition is marked."""
    chats = [*evidence.world.telegram.chats.values(), *evidence.world.whatsapp.chats.values()]
    for entry in evidence.outbox:
        if entry.status not in ("sent", "withdrawn", "dead"):
            yield f"{entry.id} is still {entry.status}"
        if entry.status == "dead" and not entry.attempts + entry.interruptions:
            yield f"{entry.id} was given up without a try: {entry.last_error}"
    for run in evidence.runs:
        if run.channel not in ("telegram", "whatsapp"):
            continue
        entries = [each for each in evidence.outbox if each.run_id == run.id and each.kind == "answer"]
        text = f"Done: {evidence.message_of(run)}"
        if run.status == "completed" and not entries:
            yield f"the answer to {run.text!r} was never to be sent"
        answer = str((run.response or {}).get("text", ""))
        copies = [each for each in chats if text in each.text and not each.is_preview]
        dead = any(each.status == "dead" for each in entries)
        if answer == text and not copies and not dead:
            yield f"the answer to {run.text!r} has not arrived"
        if sum(REPEAT not in each.text for each in copies) > 1:
            yield f"the answer to {run.text!r} arrived twice without a mark"


def nothing_held(evidence: Evidence) -> Iterator[str]:
    """At rest nothing is reserved: no budget, no slot of the queue, no lane, no delivery, no turn."""
    for holder, what in evidence.held.items():
        if what:
            yield f"at rest there is something held: {holder}: {what}"


def within_budget(evidence: Evidence) -> Iterator[str]:
    """Budgets are never exceeded, whatever runs at the same time."""
    limit = evidence.world.budget
    for (account, period), amount in evidence.spent.items():
        if limit is not None and len(period) == len("2026-01-01") and account == "brain" and amount > limit:
            yield f"{amount} tokens were spent on {period}, of {limit}"
        if amount < 0:
            yield f"{amount} were spent by {account} in {period}"


CHECKS: Sequence[Callable[[Evidence], Iterator[str]]] = (
    one_outcome,
    one_task,
    said_once,
    order,
    begins_once,
    runs_once,
    decided_once,
    approved_before,
    events,
    told_as_stored,
    delivered,
    nothing_held,
    within_budget,
)
