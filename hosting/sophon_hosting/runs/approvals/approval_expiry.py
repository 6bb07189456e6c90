"""Expiry of approvals: the timeout of a request that nobody has decided."""

import logging
from collections.abc import Awaitable, Callable

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import Clock
from sophon.deadline import Deadline, next_check_seconds
from sophon.failure_log import log_failure
from sophon.settings import ApprovalSettings
from sophon_hosting.runs.approvals.approval_gate import StoreApprovalGate
from sophon_hosting.runs.approvals.decision_writer import DecisionWriter
from sophon_hosting.store.approvals.sql import ApprovalStore
from sophon_middlewares.inner.approval.approval import timeout_decision

log = logging.getLogger("sophon")

REFRESH_SECONDS = 30.0
"""How often the open requests of other processes are read, so that they expire if those die."""

RETRY_SECONDS = 5.0
"""Delay before expired approvals are looked for again after an error."""


class ApprovalExpiry:
    """Timeouts of the open requests; one that expires is decided by `Approval.OnTimeout`, and `resume` is awaited.

    With `Park` a request stays open until somebody decides. Waiting for the next timeout reads nothing from the store.
    Where processes share a queue, each watches the requests of all; only the one that stores the decision resumes.
    """

    def __init__(
        self,
        approvals: ApprovalStore,
        decisions: DecisionWriter,
        resume: Callable[[ApprovalRequest], Awaitable[None]],
        *,
        clock: Clock,
        settings: ApprovalSettings,
        is_shared: bool,
    ) -> None:
        self._approvals, self._decisions, self._resume = approvals, decisions, resume
        self._clock, self._settings, self._is_shared = clock, settings, is_shared
        self._deadlines: dict[str, Deadline] = {}
        """Timeouts of the open requests, by id."""
        self._loaded_at = float("-inf")
        """Monotonic time at which the open requests were read from the store."""

    def forget(self, approval_id: str) -> None:
        """Stop watching a request that was decided."""
        self._deadlines.pop(approval_id, None)

    async def expire_due(self) -> float | None:
        """Decide the requests that have expired; return the seconds until the next timeout, None without one.

        A request expires at its time of the wall clock, and after a jump backward when its time is over. The first call
        reads the open requests from the store; a later one only those that expire, and in a process that shares a queue
        all of them every `REFRESH_SECONDS`.
        """
        decision = timeout_decision(self._settings)
        if decision.verdict == "suspend":
            return None
        now = self._clock.monotonic()
        if now - self._loaded_at >= (REFRESH_SECONDS if self._is_shared else float("inf")):
            await self._load_open()
            self._loaded_at = now
        upcoming: list[float] = [REFRESH_SECONDS] if self._is_shared else []
        for approval_id, deadline in list(self._deadlines.items()):
            remaining = deadline.remaining_seconds(self._clock)
            if remaining > 0:
                upcoming.append(remaining)
                continue
            await self._expire(approval_id, decision)
            self.forget(approval_id)
        return min(upcoming, default=None)

    async def run(self, gate: StoreApprovalGate) -> None:
        """Call `expire_due` at every timeout, and often enough to notice a jump of the clock, until cancelled."""
        while True:
            gate.new_request_event.clear()
            for request in gate.take_new_requests():
                self._watch(request)
            try:
                remaining = await self.expire_due()
            except Exception as error:  # noqa: BLE001 - logged, and tried again
                log_failure(log, error, "expiring approvals failed; the next attempt follows")
                await self._clock.sleep(RETRY_SECONDS)
                continue
            try:
                async with self._clock.timeout(None if remaining is None else next_check_seconds(remaining)):
                    await gate.new_request_event.wait()
            except TimeoutError:
                continue

    async def _load_open(self) -> None:
        """Watch the open requests of the store, and those alone."""
        records = await self._approvals.list()
        for approval_id in self._deadlines.keys() - {record.request.id for record in records}:
            self.forget(approval_id)
        for record in records:
            self._watch(record.request)

    def _watch(self, request: ApprovalRequest) -> None:
        """Remember when an open request expires; of a known one the first deadline stays."""
        if request.expires_at is not None and request.id not in self._deadlines:
            self._deadlines[request.id] = Deadline.of(request.expires_at, self._clock)

    async def _expire(self, approval_id: str, decision: Decision) -> None:
        """Decide a request by its timeout, unless somebody has decided it or it was deleted."""
        record = await self._approvals.find(approval_id)
        if record is not None and record.decision is None:
            stored = await self._decisions.decide(record.request, decision)
            if stored.was_decided_now:
                await self._resume(record.request)
