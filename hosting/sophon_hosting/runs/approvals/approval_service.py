"""Durable approvals: requests and decisions are stored; a decision enqueues a resume of the suspended run."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.clock import Clock
from sophon.errors import NotFound, SophonError
from sophon.operator_policy import UNRESTRICTED, OperatorPolicy
from sophon.settings import ApprovalSettings
from sophon.tools.registry import Toolbox
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.health import QueueHealth
from sophon_hosting.runs.approvals.approval_expiry import ApprovalExpiry
from sophon_hosting.runs.approvals.decision_writer import DecisionWriter
from sophon_hosting.runs.approvals.pending_questions import PendingQuestions
from sophon_hosting.runs.queue_entries import build_queue_entry
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.contract import HostStore
from sophon_middlewares.inner.approval.approval import DECIDED_BY_TIMEOUT
from sophon_middlewares.tool_calls.call_checks import find_argument_error

log = logging.getLogger("sophon")

MAX_ANSWER_CHARACTERS = 2000
"""Longest answer to a question."""

SignalRun: TypeAlias = Callable[[str, str], None]
"""Tells the process that runs a run, by its id, that the store has something for it, and why; best effort."""


def ignore_signal(run_id: str, reason: str) -> None:
    """Tell nobody: this process is the only one, or its reconciler makes up for it."""


class DecisionRefused(SophonError):
    """Error: a decision was not accepted; `code` is one of `codes`, and `decided_by` names who has `already_decided`.

    Who may not decide at all gets NotFound.
    """

    codes: Final = (
        "already_decided",
        "operator_needed",
        "expired",
        "not_editable",
        "invalid_arguments",
        "not_grantable",
        "wrong_kind",
        "other_session",
        "not_a_decision",
    )

    def __init__(self, code: str, message: str, decided_by: str = "") -> None:
        self.code, self.decided_by = code, decided_by
        super().__init__(message)


class ApprovalService:
    """Approval service: record decisions of users; each one resumes the run, or the call that is held.

    The owner of the run and the policy's operators may decide; a Critical call may need an operator.
    """

    def __init__(
        self,
        store: HostStore,
        queue: TaskQueue,
        decisions: DecisionWriter,
        *,
        clock: Clock,
        settings: ApprovalSettings,
        tools: Toolbox,
        policy: OperatorPolicy = UNRESTRICTED,
        held: PendingQuestions | None = None,
        health: QueueHealth | None = None,
        signal: SignalRun = ignore_signal,
    ) -> None:
        self._held = PendingQuestions() if held is None else held
        self._health = QueueHealth(clock) if health is None else health
        self._decisions, self._signal = decisions, signal
        self._store, self._queue, self._clock, self._settings = store, queue, clock, settings
        self._tools = tools
        self._policy = policy
        self.expiry = ApprovalExpiry(
            store.approvals, decisions, self._resume, clock=clock, settings=settings, is_shared=queue.is_shared
        )
        """Decides the requests that nobody has decided in time."""

    async def decide(self, approval_id: str, decision: Decision, decided_by: str) -> ApprovalRecord:
        """Record a person's decision and resume the run; only the first decision counts.

        Raises NotFound, DecisionRefused.
        """
        record = await self._store.approvals.get(approval_id)
        owner = (await self._store.runs.get(turn_id_from_request(record.request))).owner
        attributed = replace(decision, decided_by=decided_by)
        check_decider(self._policy, record, attributed, asker=owner)
        self._check(record, decision, self._clock.now())
        stored = await self._decisions.decide(record.request, attributed)
        if not stored.was_decided_now:
            raise _already_decided(stored)
        self.expiry.forget(approval_id)
        log.info("approval %s (%s): %s by %s", approval_id, record.request.tool, decision.verdict, decided_by)
        await self._resume(record.request)
        return stored

    def _check(self, record: ApprovalRecord, decision: Decision, now: datetime) -> None:
        request = record.request
        if record.decision is not None:
            raise _already_decided(record)
        if decision.verdict == "suspend":
            raise DecisionRefused("not_a_decision", "a decision must be approve, reject, edit or answer")
        check_kind(request, decision)
        if decision.verdict == "edit":
            self._check_edit(request, decision)
        check_grant(request, decision)
        parks = self._settings.on_timeout == "Park"
        if request.expires_at is not None and now >= request.expires_at and not parks:
            raise DecisionRefused("expired", f"this approval expired at {request.expires_at.isoformat()}")

    def _check_edit(self, request: ApprovalRequest, decision: Decision) -> None:
        """Raise for edited arguments that violate the tool's schema, so that the request stays open."""
        tool = self._tools.registry.get(request.tool)
        mismatch = find_argument_error(tool, decision.arguments) if tool is not None else None
        if mismatch is not None:
            raise DecisionRefused("invalid_arguments", f"invalid arguments: {'; '.join(mismatch.problems)}")

    async def _resume(self, request: ApprovalRequest) -> None:
        """Enqueue the resume of the run that waits for a decision, or let the call that is held go on."""
        if self._held.notify(request.id):  # a running call waits for it: there is no turn to resume
            return
        run = await self._store.runs.find(turn_id_from_request(request))
        if run is None:  # its session was deleted meanwhile
            return
        if self._queue.is_shared and run.status == "running":
            self._signal(run.id, "decision")  # a running call of another process may wait for it
        try:
            with self._health.watch():
                await self._queue.put(build_queue_entry(run, "resume"))
        except QueueUnavailable:
            return  # the decision has signalled the run: the reconciler enqueues it


def check_decider(policy: OperatorPolicy, record: ApprovalRecord, decision: Decision, *, asker: str) -> None:
    """Raise NotFound, or DecisionRefused `operator_needed`, if the decision's author may not make it.

    `asker` is the owner of the run. That somebody else decided before is not reported here.
    """
    author = decision.decided_by
    approves = decision.verdict != "reject"
    problem = policy.find_problem(record.request.risk, asker=asker, decider=author, approves=approves)
    if problem == "forbidden":
        # The same answer as for an id that does not exist: others must not learn what is asked.
        raise NotFound("approval", record.request.id)
    if problem == "operator_needed" and record.decision is None:
        who = "another operator" if policy.is_operator(author) else "an operator"
        raise DecisionRefused(problem, f"waiting for {who}: you may reject this call, but not approve it")


def check_session(record: ApprovalRecord, session_id: str | None) -> None:
    """Raise DecisionRefused `other_session` if the decision names another session than the approval's."""
    if session_id is not None and session_id != record.request.session_id:
        raise DecisionRefused("other_session", f"approval {record.request.id!r} is not of session {session_id!r}")


def check_kind(request: ApprovalRequest, decision: Decision) -> None:
    """Raise DecisionRefused if a question is approved, anything else answered, an answer is empty or too long, or
    arguments are edited that cannot be.
    """
    if decision.verdict == "reject":
        return
    if (request.kind == "question") != (decision.verdict == "answer"):
        allowed = "a question is answered or rejected" if request.kind == "question" else "only questions are answered"
        raise DecisionRefused("wrong_kind", f"{allowed}: {decision.verdict} is not possible")
    if decision.verdict == "answer" and not 0 < len(decision.reason.strip()) <= MAX_ANSWER_CHARACTERS:
        raise DecisionRefused("invalid_arguments", f"an answer must have 1 to {MAX_ANSWER_CHARACTERS:,} characters")
    if decision.verdict == "edit" and not request.editable:
        raise DecisionRefused("not_editable", f"the arguments of {request.tool} cannot be edited")


def check_grant(request: ApprovalRequest, decision: Decision) -> None:
    """Raise DecisionRefused for an approval in advance that the request does not offer."""
    if decision.grant is not None and (decision.verdict != "approve" or not request.grant_offer):
        raise DecisionRefused("not_grantable", f"this call of {request.tool} can be approved only by itself")


def _already_decided(record: ApprovalRecord) -> DecisionRefused:
    assert record.decision is not None
    by = record.decision.decided_by
    if by == DECIDED_BY_TIMEOUT:
        return DecisionRefused("already_decided", f"{record.decision.reason}: it counts as rejected", by)
    return DecisionRefused("already_decided", f"{by or 'somebody'} decided this before: {record.decision.verdict}", by)
