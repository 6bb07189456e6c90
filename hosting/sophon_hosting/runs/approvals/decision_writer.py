"""Decision writer: stores a decision about an approval together with the event that reports it."""

from sophon.approvals import ApprovalRequest, Decision, turn_id_from_request
from sophon.clock import Clock
from sophon.events import ApprovalResolved
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.session_transactions import BuildRows, Stored
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.approvals.sql import ApprovalStore


class DecisionWriter:
    """Writes decisions. One transaction stores a decision and its `approval_resolved`, so that a process which stalls
    or dies in between neither loses the event nor lets the one that resumes the turn write it again.
    """

    def __init__(self, approvals: ApprovalStore, event_bus: EventBus, clock: Clock) -> None:
        self._approvals, self._event_bus, self._clock = approvals, event_bus, clock

    async def decide(self, request: ApprovalRequest, decision: Decision) -> ApprovalRecord:
        """Store the decision unless there is one, and publish its event. Raises NotFound, StoreError."""

        async def write(build_rows: BuildRows) -> Stored[ApprovalRecord]:
            record = await self._approvals.decide(
                request.id,
                decision,
                self._clock.now(),
                lambda: build_rows([build_resolution_event(request, decision)]),
            )
            return record, record.event_seq

        return await self._event_bus.commit_events(request.session_id, write)


def build_resolution_event(request: ApprovalRequest, decision: Decision) -> ApprovalResolved:
    """Return the `ApprovalResolved` event of a decision."""
    return ApprovalResolved(
        session_id=request.session_id,
        task_id=turn_id_from_request(request),
        run_id=request.run_id,
        approval_id=request.id,
        decision=decision.verdict,
        decided_by=decision.decided_by,
        reason=decision.reason,
        arguments=decision.arguments if decision.verdict == "edit" else None,
    )
