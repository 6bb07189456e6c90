"""The approval store's contract: approval requests and their decisions."""

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Protocol, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalRequest, Decision
from sophon.stores.events.contract import LoggedEvent


@dataclass(frozen=True, slots=True)
class ApprovalRecord:
    """An approval request and its decision; `decision` is None while it is open.

    `was_decided_now` is True only in the result of the `decide` that stored the decision: of several processes that
    decide, one announces it. `event_seq` is then the last seq of the session with the events of the decision.
    """

    request: ApprovalRequest
    asked_at: datetime
    decision: Decision | None = None
    decided_at: datetime | None = None
    was_decided_now: bool = field(default=False, compare=False)
    event_seq: int = field(default=0, compare=False)


DecisionEvents: TypeAlias = Callable[[], Sequence[LoggedEvent]]
"""Builds the events that are stored with a decision; called only for the decision that counts."""


def no_decision_events() -> Sequence[LoggedEvent]:
    """Store no events with a decision: the turn that it resumes announces it."""
    return ()


class ApprovalStore(Protocol):
    """Repository of approvals. The first decision wins, also among concurrent ones."""

    async def get_or_create(self, request: ApprovalRequest, at: datetime) -> ApprovalRecord:
        """Store a request and return its record; a known id returns the existing record, decision included."""
        ...

    async def decide(
        self, approval_id: str, decision: Decision, at: datetime, events: DecisionEvents = no_decision_events
    ) -> ApprovalRecord:
        """Store the decision if there is none, and return the resulting record. Raises NotFound.

        Its events are stored in the same transaction: whoever reads the decision finds them.
        The same write signals the run of the request (see `RunStore.list_pending`).
        """
        ...

    async def get(self, approval_id: str) -> ApprovalRecord:
        """Return one record. Raises NotFound."""
        ...

    async def find(self, approval_id: str) -> ApprovalRecord | None:
        """Return one record; None if it does not exist."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the records that were decided before a time, in sessions without an unfinished run.

        Returns how many. A suspended run still needs the decisions of its calls.
        """
        ...

    async def list(self, *, open_only: bool = True, session_id: str | None = None) -> list[ApprovalRecord]:
        """Return the records, oldest first."""
        ...
