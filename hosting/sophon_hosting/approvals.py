"""Approvals that survive: questions and answers are in the store, and an answer wakes the run that waits for it."""

import asyncio
import logging
from collections.abc import Collection
from datetime import datetime

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon.errors import SophonError
from sophon.events import ApprovalResolved, EventSink, Silence
from sophon.settings import ApprovalSettings
from sophon.stores.contracts import ApprovalRecord, Store
from sophon.tools.registry import ToolRegistry
from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.runs.jobs import Jobs
from sophon_middlewares.inner.admission import misfit
from sophon_middlewares.inner.approval import on_silence

log = logging.getLogger("sophon")


class DecisionRefused(SophonError):
    """A decision that does not count. `code`: `already_decided` (`decided_by` says by whom), `forbidden`, `expired`,
    `not_editable`, `not_a_decision`.
    """

    def __init__(self, code: str, message: str, decided_by: str = "") -> None:
        self.code, self.decided_by = code, decided_by
        super().__init__(message)


class StoreGate:
    """The gate of a host: nobody waits in it. Without an answer in the store the turn suspends.

    Who asks first sets the expiry; the same question asked again is the same record.
    """

    def __init__(self, store: Store, clock: Clock, jobs: Jobs) -> None:
        self._store, self._clock, self._jobs = store, clock, jobs
        self.asked = asyncio.Event()
        """Set by a question without an answer; whoever watches expiries clears it."""

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """The stored decision, or `suspend`."""
        record = await self._store.approvals.ask(request, self._clock.now())
        if record.decision is not None:
            return record.decision
        job = self._jobs.get(task_of(request))
        if job is not None:
            job.asked.append(request.id)
        self.asked.set()
        return Decision.suspend()


class Approvals:
    """Takes decisions and lets time decide; both enqueue a resume of the run.

    Decides who may: the owner of the run, and `approvers`. What expiry means is `Approval.OnTimeout`; with Park a
    question stays open until somebody decides.
    """

    def __init__(
        self,
        store: Store,
        queue: TaskQueue,
        *,
        clock: Clock,
        settings: ApprovalSettings,
        tools: ToolRegistry,
        approvers: Collection[str] = (),
        events: EventSink | None = None,
    ) -> None:
        self._store, self._queue, self._clock, self._settings = store, queue, clock, settings
        self._tools = tools
        self._events = events or Silence()
        self._approvers = frozenset(approvers)
        self._turnstile = asyncio.Lock()

    async def decide(self, approval_id: str, decision: Decision, by: str) -> ApprovalRecord:
        """Keep a person's decision, the first one only, and let the run go on.

        Raises NotFound, DecisionRefused.
        """
        # One at a time, so that of two equal decisions at once the second is told that it is one.
        async with self._turnstile:
            record = await self._store.approvals.get(approval_id)
            owner = (await self._store.runs.get(task_of(record.request))).owner
            if by != owner and by not in self._approvers:
                raise DecisionRefused("forbidden", f"{by!r} may not decide this: only who asked, or an approver")
            now = self._clock.now()
            self._check(record, decision, now)
            signed = Decision(decision.verdict, decision.reason, decision.arguments, decided_by=by)
            kept = await self._store.approvals.decide(approval_id, signed, now)
            if kept.decision != signed:
                raise _decided(kept)
        log.info("approval %s (%s): %s by %s", approval_id, record.request.tool, decision.verdict, by)
        await self._decided(record.request, signed)
        return kept

    async def expire(self) -> datetime | None:
        """Let time decide what is due, and give the moment at which the next is; None if none is."""
        silence = on_silence(self._settings)
        if silence.verdict == "suspend":
            return None
        now = self._clock.now()
        upcoming: list[datetime] = []
        for record in await self._store.approvals.list():
            expires_at = record.request.expires_at
            if expires_at is None:
                continue
            if expires_at > now:
                upcoming.append(expires_at)
                continue
            kept = await self._store.approvals.decide(record.request.id, silence, now)
            await self._decided(record.request, kept.decision or silence)
        return min(upcoming, default=None)

    async def watch(self, gate: StoreGate) -> None:
        """Let time decide whenever something is due, until cancelled."""
        while True:
            gate.asked.clear()
            due = await self.expire()
            seconds = (due - self._clock.now()).total_seconds() if due is not None else None
            try:
                async with self._clock.timeout(seconds):
                    await gate.asked.wait()
            except TimeoutError:
                continue

    def _check(self, record: ApprovalRecord, decision: Decision, now: datetime) -> None:
        request = record.request
        if record.decision is not None:
            raise _decided(record)
        if decision.verdict == "suspend":
            raise DecisionRefused("not_a_decision", "a decision is approve, reject or edit")
        if decision.verdict == "edit" and not request.editable:
            raise DecisionRefused("not_editable", f"the arguments of {request.tool} cannot be edited")
        if decision.verdict == "edit":
            self._check_edit(request, decision)
        parks = self._settings.on_timeout == "Park"
        if request.expires_at is not None and now >= request.expires_at and not parks:
            raise DecisionRefused("expired", f"this question expired at {request.expires_at.isoformat()}")

    def _check_edit(self, request: ApprovalRequest, decision: Decision) -> None:
        """A mistake in an edit leaves the question open: the call would be denied for it."""
        tool = self._tools.get(request.tool)
        wrong = misfit(tool, decision.arguments) if tool is not None else None
        if wrong is not None:
            raise DecisionRefused("invalid_arguments", f"these arguments do not fit: {'; '.join(wrong.problems)}")

    async def _decided(self, request: ApprovalRequest, decision: Decision) -> None:
        """Everybody is told at once, and not when a worker has time for the run."""
        self._events.emit(resolution(request, decision))
        await self._queue.put(QueueEntry(task_of(request), request.session_id, "resume"))


def task_of(request: ApprovalRequest) -> str:
    """The run of the whole turn, also for a question of a plan's step."""
    return request.run_id.partition("/")[0]


def resolution(request: ApprovalRequest, decision: Decision) -> ApprovalResolved:
    """The event that says how a question was decided."""
    return ApprovalResolved(
        session_id=request.session_id,
        task_id=task_of(request),
        run_id=request.run_id,
        approval_id=request.id,
        decision=decision.verdict,
        decided_by=decision.decided_by,
        reason=decision.reason,
    )


def _decided(record: ApprovalRecord) -> DecisionRefused:
    assert record.decision is not None
    by = record.decision.decided_by
    return DecisionRefused("already_decided", f"{by or 'somebody'} decided this before: {record.decision.verdict}", by)
