"""In-memory approval store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.errors import NotFound
from sophon.stores.approvals.contract import (
    ApprovalRecord,
    DecisionEvents,
    no_decision_events,
)
from sophon.stores.events.contract import EventLog
from sophon.stores.runs.contract import Run


class InMemoryApprovalStore:
    """The approvals of an `InMemoryStore`; see `ApprovalStore`.

    `runs` holds the runs by id, `signal` signals one, and `event_log` has the events of decisions.
    """

    def __init__(self, runs: Mapping[str, Run], signal: Callable[[str], None], event_log: EventLog) -> None:
        self._runs, self._signal, self._event_log = runs, signal, event_log
        self._records: dict[str, ApprovalRecord] = {}

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """See `ApprovalStore.get_or_create`."""
        return self.add(request, at)

    def add(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """Add a request unless its id is known; return its record."""
        return self._records.setdefault(request.id, ApprovalRecord(request, at))

    async def decide(
        self, approval_id: str, decision: Decision, at: datetime, events: DecisionEvents = no_decision_events
    ) -> ApprovalRecord:
        """See `ApprovalStore.decide`."""
        record = await self.get(approval_id)
        if record.decision is not None:
            return record
        # The events first, because the log may refuse them; neither `await` waits for anything.
        rows = events()
        seq = await self._event_log.append(record.request.session_id, rows) if rows else 0
        record = self._records[approval_id] = replace(record, decision=decision, decided_at=at)
        self._signal(turn_id_from_request(record.request))
        return replace(record, was_decided_now=True, event_seq=seq)

    def decide_open(self, run_id: str, decision: Decision, at: datetime) -> Sequence[ApprovalRequest]:
        """Decide the requests of a run that nobody has decided, and return them, oldest first."""
        found = [
            record
            for record in self._records.values()
            if record.decision is None and turn_id_from_request(record.request) == run_id
        ]
        for record in found:
            self._records[record.request.id] = replace(record, decision=decision, decided_at=at)
        return [record.request for record in sorted(found, key=lambda record: record.asked_at)]

    async def get(self, approval_id: str) -> ApprovalRecord:
        """See `ApprovalStore.get`."""
        record = self._records.get(approval_id)
        if record is None:
            raise NotFound("approval", approval_id)
        return record

    async def find(self, approval_id: str) -> ApprovalRecord | None:
        """See `ApprovalStore.find`."""
        return self._records.get(approval_id)

    async def expire(self, before: datetime) -> int:
        """See `ApprovalStore.expire`."""
        busy = {run.session_id for run in self._runs.values() if not run.is_finished}
        old = [
            record.request.id
            for record in self._records.values()
            if record.decided_at is not None and record.decided_at < before and record.request.session_id not in busy
        ]
        for approval_id in old:
            del self._records[approval_id]
        return len(old)

    def forget_session(self, session_id: str) -> None:
        """Delete the approvals of a session that is deleted."""
        self._records = {
            approval_id: each for approval_id, each in self._records.items() if each.request.session_id != session_id
        }

    async def list(self, *, open_only: bool = True, session_id: str | None = None) -> list[ApprovalRecord]:
        """See `ApprovalStore.list`."""
        found = [
            record
            for record in self._records.values()
            if (record.decision is None or not open_only)
            and (session_id is None or record.request.session_id == session_id)
        ]
        return sorted(found, key=lambda record: record.asked_at)
