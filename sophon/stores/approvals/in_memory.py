"""In-memory approval store."""

from dataclasses import replace
from datetime import datetime

from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import NotFound
from sophon.stores.approvals.contract import ApprovalRecord


class InMemoryApprovalStore:
    """The approvals of an `InMemoryStore`; see `ApprovalStore`."""

    def __init__(self) -> None:
        self._records: dict[str, ApprovalRecord] = {}

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """See `ApprovalStore.get_or_create`."""
        return self._records.setdefault(request.id, ApprovalRecord(request, at))

    async def decide(self, approval_id: str, decision: Decision, at: datetime) -> ApprovalRecord:
        """See `ApprovalStore.decide`."""
        record = await self.get(approval_id)
        if record.decision is None:
            record = self._records[approval_id] = replace(record, decision=decision, decided_at=at)
        return record

    async def get(self, approval_id: str) -> ApprovalRecord:
        """See `ApprovalStore.get`."""
        record = self._records.get(approval_id)
        if record is None:
            raise NotFound("approval", approval_id)
        return record

    async def find(self, approval_id: str) -> ApprovalRecord | None:
        """See `ApprovalStore.find`."""
        return self._records.get(approval_id)

    async def list(self, *, open_only: bool = True, session_id: str | None = None) -> list[ApprovalRecord]:
        """See `ApprovalStore.list`."""
        found = [
            record
            for record in self._records.values()
            if (record.decision is None or not open_only)
            and (session_id is None or record.request.session_id == session_id)
        ]
        return sorted(found, key=lambda record: record.asked_at)
