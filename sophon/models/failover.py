"""Failover state machine of one model call: which candidate is called next, and when the call ends. Pure.

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
from sophon.models.retries import TRANSIENT


class State(Enum):
    """State of a model call with respect to its candidates."""

    SELECTING = auto()
    CALLING = auto()
    ANSWERED = auto()
    EXHAUSTED = auto()
    ABORTED = auto()


class Event(Enum):
    """Event that moves a model call to another state."""

    CANDIDATE = auto()
    NONE_LEFT = auto()
    SUCCESS = auto()
    FAILED = auto()
    SPENT = auto()
    FATAL = auto()


FINAL = frozenset({State.ANSWERED, State.EXHAUSTED, State.ABORTED})

_EXPECTED_TRANSITIONS: dict[State, dict[Event, State]] = {
    State.SELECTING: {Event.CANDIDATE: State.CALLING, Event.NONE_LEFT: State.EXHAUSTED},
    State.CALLING: {
        Event.SUCCESS: State.ANSWERED,
        Event.FAILED: State.SELECTING,
        Event.SPENT: State.SELECTING,
        Event.FATAL: State.ABORTED,
    },
}

TABLE: dict[tuple[State, Event], State] = {
    (state, event): state if state in FINAL else _EXPECTED_TRANSITIONS[state].get(event, State.ABORTED)
    for state in State
    for event in Event
}
"""The next state for every (state, event). With n candidates a call takes at most 2n + 1 steps to a final state."""


def event_of(error: SophonError, heard: bool = False) -> Event:
    """Return the event for an error of one candidate. `heard`: text was already shown, which makes any error fatal."""
    if heard:
        return Event.FATAL
    if isinstance(error, BudgetExceeded):
        return Event.SPENT
    return Event.FAILED if isinstance(error, _FAILOVER_ERRORS) else Event.FATAL


def verdict(errors: Sequence[SophonError], heard: bool = False) -> SophonError:
    """Return the error that the gateway raises: the last error of a model.

    BudgetExceeded is returned only if no model was called or if it interrupted text that was being shown; NoProvider
    if there was no candidate.
    """
    if not errors:
        return NoProvider("no provider is available; configure one, or wait until one has recovered")
    failed = [error for error in errors if not isinstance(error, BudgetExceeded)]
    return failed[-1] if failed and not heard else errors[-1]


_FAILOVER_ERRORS = (*TRANSIENT, RateLimited, AuthenticationFailed, NoProvider, MessageTooLarge)
