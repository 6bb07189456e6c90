"""Failover state machine of one model call: which candidate is called next, and when the call ends. Pure.

::

    selecting  --candidate_available--> calling; --no_candidate--> exhausted
    calling    --success--> answered; --candidate_failed--> selecting; --budget_exceeded--> selecting;
               --fatal_error--> aborted

answered, exhausted and aborted are final; an impossible pair leads to aborted. Fatal errors are: context overflow (it
is handled by compaction), a rejected request (BadRequest), an unclassified error (probably a defect in Sophon), and
every error after visible text. Source: reference/clawdesk.md 1.2; its retrying state is a separate machine
(retry_machine.py), because the call layers are between the two.
"""

from collections.abc import Sequence
from enum import Enum, auto

from sophon.errors import (
    AuthenticationFailed,
    BudgetExceeded,
    MessageTooLarge,
    NoProvider,
    RateLimited,
    SophonError,
)
from sophon.models.gateway.retry_machine import TRANSIENT_ERRORS


class FailoverState(Enum):
    """State of a model call with respect to its candidates."""

    SELECTING = auto()
    CALLING = auto()
    ANSWERED = auto()
    EXHAUSTED = auto()
    ABORTED = auto()


class FailoverEvent(Enum):
    """Event that moves a model call to another state."""

    CANDIDATE_AVAILABLE = auto()
    NO_CANDIDATE = auto()
    SUCCESS = auto()
    CANDIDATE_FAILED = auto()
    BUDGET_EXCEEDED = auto()
    FATAL_ERROR = auto()


FINAL_STATES = frozenset({FailoverState.ANSWERED, FailoverState.EXHAUSTED, FailoverState.ABORTED})

_EXPECTED_TRANSITIONS: dict[FailoverState, dict[FailoverEvent, FailoverState]] = {
    FailoverState.SELECTING: {
        FailoverEvent.CANDIDATE_AVAILABLE: FailoverState.CALLING,
        FailoverEvent.NO_CANDIDATE: FailoverState.EXHAUSTED,
    },
    FailoverState.CALLING: {
        FailoverEvent.SUCCESS: FailoverState.ANSWERED,
        FailoverEvent.CANDIDATE_FAILED: FailoverState.SELECTING,
        FailoverEvent.BUDGET_EXCEEDED: FailoverState.SELECTING,
        FailoverEvent.FATAL_ERROR: FailoverState.ABORTED,
    },
}

TRANSITIONS: dict[tuple[FailoverState, FailoverEvent], FailoverState] = {
    (state, event): state if state in FINAL_STATES else _EXPECTED_TRANSITIONS[state].get(event, FailoverState.ABORTED)
    for state in FailoverState
    for event in FailoverEvent
}
"""The next state for every (state, event). With n candidates a call takes at most 2n + 1 steps to a final state."""


def failover_event_from_error(error: SophonError, has_output: bool = False) -> FailoverEvent:
    """Return the event for an error of one candidate. `has_output`: text was already shown, which makes any error
    fatal.
    """
    if has_output:
        return FailoverEvent.FATAL_ERROR
    if isinstance(error, BudgetExceeded):
        return FailoverEvent.BUDGET_EXCEEDED
    return FailoverEvent.CANDIDATE_FAILED if isinstance(error, _FAILOVER_ERRORS) else FailoverEvent.FATAL_ERROR


def select_final_error(errors: Sequence[SophonError], has_output: bool = False) -> SophonError:
    """Return the error that the gateway raises: the last error of a model.

    BudgetExceeded is returned only if no model was called or if it interrupted text that was being shown; NoProvider
    if there was no candidate.
    """
    if not errors:
        return NoProvider("no provider is available; configure one, or wait until one has recovered")
    failed = [error for error in errors if not isinstance(error, BudgetExceeded)]
    return failed[-1] if failed and not has_output else errors[-1]


_FAILOVER_ERRORS = (*TRANSIENT_ERRORS, RateLimited, AuthenticationFailed, NoProvider, MessageTooLarge)
