"""Approval gate of a host: a stored decision, checked against the policy of the moment, or a suspended turn."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.clock import Clock
from sophon.errors import NotFound, StoreUnavailable
from sophon.events import EventSink, NullEventSink
from sophon.operator_policy import UNRESTRICTED, OperatorPolicy
from sophon.turn.approval_events import build_request_event
from sophon.turn.in_call_questions import CANCELLED, NOBODY_ANSWERED, Pausable, paused
from sophon_hosting.background_tasks import complete
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns
from sophon_hosting.runs.approvals.pending_questions import PendingQuestions
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

HELD_CHECK_SECONDS = 5.0
"""Interval between two looks into the store for a decision that another process has written."""


LoadRunEvents: TypeAlias = Callable[[Run], Awaitable[None]]
"""Notes which events of a run were stored elsewhere, so that they are not emitted again."""


class StoreApprovalGate:
    """Approval gate of a host: return the stored decision, or suspend the turn; only `hold` waits.

    The first request sets the expiry; repeating the same request returns the same record. An approval whose author may
    not give it under the policy of this moment (users, channels or operators changed since)
    runs nothing: the question is asked again, as a new one.
    """

    def __init__(
        self,
        store: HostStore,
        clock: Clock,
        active_runs: ActiveRuns,
        *,
        policy: OperatorPolicy = UNRESTRICTED,
        events: EventSink | None = None,
        held: PendingQuestions | None = None,
        load_events: LoadRunEvents | None = None,
    ) -> None:
        self._load_events = load_events
        self._held = PendingQuestions() if held is None else held
        self._store, self._clock, self._active_runs = store, clock, active_runs
        self._policy, self._events = policy, events or NullEventSink()
        self.new_request_event = asyncio.Event()
        """Set for every request without a decision; the expiry loop clears it."""
        self._new_requests: list[ApprovalRequest] = []

    def take_new_requests(self) -> list[ApprovalRequest]:
        """Return the requests without a decision since the last call, as they are stored."""
        taken, self._new_requests = self._new_requests, []
        return taken

    async def request(self, request: ApprovalRequest, /) -> Decision:
        """Return the stored decision if it counts, or `suspend`."""
        active_run = self._active_runs.get(turn_id_from_request(request))
        store = self._store if active_run is None or active_run.store is None else active_run.store
        if active_run is not None:
            active_run.may_have_asked = True  # before the write: it may be stored although the turn is cancelled
        record = await store.approvals.get_or_create(request, self._clock.now())
        while record.decision is not None:
            if await self._counts(store, request, record.decision):
                await self._load_announcement(active_run)
                # What was not offered as it is now is not approved in advance.
                shown = record.request.grant_offer == request.grant_offer
                return record.decision if shown else replace(record.decision, grant=None)
            record = await self._ask_again(store, request, record, record.decision)
        if active_run is not None:
            active_run.pending_approval_ids.append(record.request.id)
        self._new_requests.append(record.request)
        self.new_request_event.set()
        return Decision.suspend()

    async def hold(self, request: ApprovalRequest, seconds: float, clocks: Sequence[Pausable], /) -> Decision:
        """Keep the turn waiting for the answer to a question of a running call; see `HoldingGate.hold`.

        A decision of another process is noticed at its signal, or within `HELD_CHECK_SECONDS`. The time limit of the
        run stands still with the `clocks`.
        """
        active_run = self._active_runs.get(turn_id_from_request(request))
        limit = active_run.timeout if active_run is not None else None
        if active_run is None or active_run.store is None or limit is None:
            return Decision.reject("the turn is not running on this host")
        active_run.may_have_asked = True
        try:
            with self._held.hold(request.id, active_run.task_id) as may_be_decided:
                await active_run.store.approvals.get_or_create(request, self._clock.now())
                with paused((limit, *clocks)):
                    await self._wait_for_decision(request, may_be_decided, seconds)
        except asyncio.CancelledError:
            with suppress(StoreUnavailable):  # then the outcome of the run closes it
                await complete(self._withdraw(active_run, request, CANCELLED))
            raise
        return await self._withdraw(active_run, request, NOBODY_ANSWERED)

    async def _load_announcement(self, active_run: ActiveRun | None) -> None:
        """Note the event that was stored with a decision (`DecisionWriter`), so that the turn does not emit it again.

        One decided without a host, as by `sophon approvals`, has none: the turn announces it.
        """
        if self._load_events is not None and active_run is not None and active_run.run is not None:
            await self._load_events(active_run.run)

    async def _wait_for_decision(self, request: ApprovalRequest, may_be_decided: asyncio.Event, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        while (rest := end - self._clock.monotonic()) > 0:
            with suppress(TimeoutError):
                async with self._clock.timeout(min(rest, HELD_CHECK_SECONDS)):
                    await may_be_decided.wait()
            may_be_decided.clear()
            record = await self._store.approvals.find(request.id)
            if record is None or record.decision is not None:
                return

    async def _withdraw(self, active_run: ActiveRun, request: ApprovalRequest, reason: str) -> Decision:
        """Return the decision on a question, which is a rejection if nobody has decided it."""
        try:
            record = await self._store.approvals.decide(request.id, Decision.reject(reason), self._clock.now())
        except NotFound:  # it was not stored, or its session was deleted
            return Decision.reject(reason)
        if not record.was_decided_now:
            await self._load_announcement(active_run)
        return record.decision or Decision.reject(reason)

    async def _counts(self, store: HostStore, request: ApprovalRequest, decision: Decision) -> bool:
        """Return whether the decision may be used now; a rejection runs nothing, so it always may.

        `request` is that of this moment: the tool may have become riskier since the question was stored.
        """
        if decision.verdict == "reject":
            return True
        try:
            asker = (await store.runs.get(turn_id_from_request(request))).owner
        except NotFound:
            return False
        decider = decision.decided_by
        return self._policy.find_problem(request.risk, asker=asker, decider=decider, approves=True) is None

    async def _ask_again(
        self, store: HostStore, request: ApprovalRequest, void: ApprovalRecord, decision: Decision
    ) -> ApprovalRecord:
        """Return the record of the question that follows one with a void decision; announce it if it is new."""
        again = replace(request, id=following_id(void.request.id))
        try:
            return await store.approvals.get(again.id)
        except NotFound:
            pass
        event = build_request_event(again)
        event.session_id, event.run_id, event.task_id = again.session_id, again.run_id, turn_id_from_request(again)
        self._events.emit(event)  # before the request, which is stored together with what is pending
        record = await store.approvals.get_or_create(again, self._clock.now())
        log.warning(
            "approval %s (%s): %s by %s does not count any more, asked again as %s",
            *(void.request.id, request.tool, decision.verdict, decision.decided_by or "nobody known", again.id),
        )
        return record


def following_id(approval_id: str) -> str:
    """Return the id of the question that is asked after this one's decision turned out to be void."""
    return f"apr_{hashlib.sha256(approval_id.encode()).hexdigest()[:20]}"
