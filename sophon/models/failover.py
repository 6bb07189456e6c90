"""The candidates of one call as a pure state machine: who is asked next, and when it ends.

    selecting  --candidate--> calling; --none_left--> exhausted
    calling    --success--> answered; --failed--> selecting; --spent--> selecting; --fatal--> aborted

answered, exhausted and aborted are final; a pair that cannot happen ends in aborted. Fatal are: context overflow (which
goes to compaction), a request that is refused as such, an error nobody knows (most likely ours), and every error after
visible text. Source: reference/clawdesk.md 1.2; its retrying state is a machine of its own (retries.py), because the
call layers stand between the two.
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
    """Where the call stands among its candidates."""

    SELECTING = auto()
    CALLING = auto()
    ANSWERED = auto()
    EXHAUSTED = auto()
    ABORTED = auto()


class Event(Enum):
    """What happened."""

    CANDIDATE = auto()
    NONE_LEFT = auto()
    SUCCESS = auto()
    FAILED = auto()
    SPENT = auto()
    FATAL = auto()


FINAL = frozenset({State.ANSWERED, State.EXHAUSTED, State.ABORTED})

_EXPECTED: dict[State, dict[Event, State]] = {
    State.SELECTING: {Event.CANDIDATE: State.CALLING, Event.NONE_LEFT: State.EXHAUSTED},
    State.CALLING: {
        Event.SUCCESS: State.ANSWERED,
        Event.FAILED: State.SELECTING,
        Event.SPENT: State.SELECTING,
        Event.FATAL: State.ABORTED,
    },
}

TABLE: dict[tuple[State, Event], State] = {
    (state, event): state if state in FINAL else _EXPECTED[state].get(event, State.ABORTED)
    for state in State
    for event in Event
}
"""Every pair. With n candidates no call takes more than 2n + 1 steps to a final state."""


def event_of(error: SophonError, heard: bool = False) -> Event:
    """What it means for the other candidates that one failed with this error; `heard`: text had been shown."""
    if heard:
        return Event.FATAL
    if isinstance(error, BudgetExceeded):
        return Event.SPENT
    return Event.FAILED if isinstance(error, _PASSED_ON) else Event.FATAL


def verdict(errors: Sequence[SophonError], heard: bool = False) -> SophonError:
    """What leaves the gateway: the last error of a model; BudgetExceeded only if no model was asked at all, or if it
    stopped a text that was being shown; NoProvider if there was nobody.
    """
    if not errors:
        return NoProvider("no provider can be asked; configure one, or wait until one is back")
    failed = [error for error in errors if not isinstance(error, BudgetExceeded)]
    return failed[-1] if failed and not heard else errors[-1]


_PASSED_ON = (*TRANSIENT, RateLimited, AuthenticationFailed, NoProvider, MessageTooLarge)
