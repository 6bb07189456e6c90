"""Record of an approval: the request and its decision."""

from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalRequest, Decision
from sophon_hosting.store.events.logged_event import LoggedEvent


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
