"""Retry state machine for one model: the next state after an attempt, a key selection or a wait. Pure.

::

    selecting_key  --key_available--> attempting; --no_key--> given_up;
                   --keys_cooling--> waiting on the last candidate, else given_up
    attempting     --success--> answered; --rate_limited--> rotating_key; --overloaded--> rotating_key;
                   --key_refused--> selecting_key; --transient_error--> waiting;
                   --timed_out--> waiting on the last candidate, else given_up;
                   --budget_exceeded--> given_up; --fatal_error--> aborted
    rotating_key   --key_available--> attempting; --keys_cooling--> waiting; --no_key--> given_up
    waiting        --wait_finished--> attempting; --wait_too_long--> given_up; --no_key--> given_up

answered, given_up (failover to the next candidate) and aborted (the gateway raises the error) are final. An impossible
pair leads to aborted, so that a defect in the driver (retry_loop.py) cannot cause an endless loop.
"""

from enum import Enum, auto

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import (
    AuthenticationFailed,
    BudgetExceeded,
    ModelError,
    ModelTimeout,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    SophonError,
)


class RetryState(Enum):
    """State of a model call on one candidate."""

    SELECTING_KEY = auto()
    ATTEMPTING = auto()
    ROTATING_KEY = auto()
    WAITING = auto()
    ANSWERED = auto()
    GIVEN_UP = auto()
    ABORTED = auto()


class RetryEvent(Enum):
    """Event that moves the retry loop to another state."""

    KEY_AVAILABLE = auto()
    KEYS_COOLING = auto()
    NO_KEY = auto()
    SUCCESS = auto()
    RATE_LIMITED = auto()
    OVERLOADED = auto()
    KEY_REFUSED = auto()
    TRANSIENT_ERROR = auto()
    TIMED_OUT = auto()
    BUDGET_EXCEEDED = auto()
    FATAL_ERROR = auto()
    WAIT_FINISHED = auto()
    WAIT_TOO_LONG = auto()


FINAL_STATES = frozenset({RetryState.ANSWERED, RetryState.GIVEN_UP, RetryState.ABORTED})

_EXPECTED_TRANSITIONS: dict[RetryState, dict[RetryEvent, RetryState]] = {
    RetryState.SELECTING_KEY: {
        RetryEvent.KEY_AVAILABLE: RetryState.ATTEMPTING,
        RetryEvent.KEYS_COOLING: RetryState.WAITING,
        RetryEvent.NO_KEY: RetryState.GIVEN_UP,
    },
    RetryState.ATTEMPTING: {
        RetryEvent.SUCCESS: RetryState.ANSWERED,
        RetryEvent.RATE_LIMITED: RetryState.ROTATING_KEY,
        RetryEvent.OVERLOADED: RetryState.ROTATING_KEY,
        RetryEvent.KEY_REFUSED: RetryState.SELECTING_KEY,
        RetryEvent.TRANSIENT_ERROR: RetryState.WAITING,
        RetryEvent.TIMED_OUT: RetryState.WAITING,
        RetryEvent.BUDGET_EXCEEDED: RetryState.GIVEN_UP,
        RetryEvent.FATAL_ERROR: RetryState.ABORTED,
    },
    RetryState.ROTATING_KEY: {
        RetryEvent.KEY_AVAILABLE: RetryState.ATTEMPTING,
        RetryEvent.KEYS_COOLING: RetryState.WAITING,
        RetryEvent.NO_KEY: RetryState.GIVEN_UP,
    },
    RetryState.WAITING: {
        RetryEvent.WAIT_FINISHED: RetryState.ATTEMPTING,
        RetryEvent.WAIT_TOO_LONG: RetryState.GIVEN_UP,
        RetryEvent.NO_KEY: RetryState.GIVEN_UP,
    },
}

TRANSITIONS: dict[tuple[RetryState, RetryEvent], RetryState] = {
    (state, event): state if state in FINAL_STATES else _EXPECTED_TRANSITIONS[state].get(event, RetryState.ABORTED)
    for state in RetryState
    for event in RetryEvent
}
"""The next state for every (state, event)."""


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Bounds of the machine. `key_count` is the number of keys, 0 for a provider without; `is_last_candidate`: no
    candidate follows.
    """

    max_retries: int
    key_count: int = 0
    is_last_candidate: bool = True


@dataclass(frozen=True, slots=True)
class RetryPosition:
    """A state with its counters: retries used, and key rotations since the last wait."""

    state: RetryState = RetryState.SELECTING_KEY
    retries: int = 0
    rotations: int = 0


def advance_retry(position: RetryPosition, event: RetryEvent, limits: RetryLimits) -> RetryPosition:
    """Return the position after an event: first the transition table, then the limits.

    A change of key is not a retry; every key is used at most once between two waits. Once all keys were used, a 429 or
    an overload leads to waiting, and a 401 to given_up because no key is left.
    """
    target = TRANSITIONS[position.state, event]
    if (position.state, event) in _FAILOVER_TRANSITIONS and not limits.is_last_candidate:
        return RetryPosition(RetryState.GIVEN_UP, position.retries, position.rotations)
    if position.state is RetryState.ATTEMPTING and target in _KEY_SELECTION_STATES:
        if position.rotations + 1 < limits.key_count:
            return RetryPosition(target, position.retries, position.rotations + 1)
        target = RetryState.WAITING if target is RetryState.ROTATING_KEY else RetryState.GIVEN_UP
    if target is RetryState.WAITING:
        if position.retries >= limits.max_retries:
            return RetryPosition(RetryState.GIVEN_UP, position.retries, position.rotations)
        return RetryPosition(target, position.retries + 1, 0)
    return RetryPosition(target, position.retries, position.rotations)


def retry_event_from_error(error: SophonError) -> RetryEvent:
    """Return the event for an error of an attempt. After visible text every error is fatal: nothing is repeated."""
    if isinstance(error, BudgetExceeded):
        return RetryEvent.BUDGET_EXCEEDED
    if not isinstance(error, ModelError) or error.visible:
        return RetryEvent.FATAL_ERROR
    if isinstance(error, RateLimited):
        return RetryEvent.RATE_LIMITED
    if isinstance(error, Overloaded):
        return RetryEvent.OVERLOADED
    if isinstance(error, AuthenticationFailed):
        return RetryEvent.KEY_REFUSED
    if isinstance(error, ModelTimeout):
        return RetryEvent.TIMED_OUT
    return RetryEvent.TRANSIENT_ERROR if isinstance(error, TRANSIENT_ERRORS) else RetryEvent.FATAL_ERROR


TRANSIENT_ERRORS = (Overloaded, ProviderUnavailable, ModelTimeout)
"""Errors caused by the state of the provider, which a retry may resolve."""

_FAILOVER_TRANSITIONS = frozenset(
    {(RetryState.SELECTING_KEY, RetryEvent.KEYS_COOLING), (RetryState.ATTEMPTING, RetryEvent.TIMED_OUT)}
)
"""What leads to the next candidate at once, if there is one."""

_KEY_SELECTION_STATES = frozenset({RetryState.ROTATING_KEY, RetryState.SELECTING_KEY})
