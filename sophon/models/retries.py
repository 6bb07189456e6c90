"""Retry state machine for one model: the next state after an attempt, a key selection or a wait. Pure.

    selecting_key  --key_available--> attempting; --no_key--> given_up;
                   --keys_cooling--> waiting on the last candidate, else given_up
    attempting     --success--> answered; --rate_limited--> rotating_key; --key_refused--> selecting_key;
                   --transient_error--> waiting; --budget_exceeded--> given_up; --fatal_error--> aborted
    rotating_key   --key_available--> attempting; --keys_cooling--> waiting; --no_key--> given_up
    waiting        --wait_finished--> attempting; --wait_too_long--> given_up; --no_key--> given_up

answered, given_up (failover to the next candidate) and aborted (the gateway raises the error) are final. An impossible
pair leads to aborted, so that a defect in the driver (retry_loop.py) cannot cause an endless loop.
"""

from dataclasses import dataclass
from enum import Enum, auto

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


class State(Enum):
    """State of a model call on one candidate."""

    CHOOSING = auto()
    ATTEMPTING = auto()
    ROTATING = auto()
    WAITING = auto()
    ANSWERED = auto()
    GIVEN_UP = auto()
    ABORTED = auto()


class Event(Enum):
    """Event that moves the retry loop to another state."""

    KEY = auto()
    COOLING = auto()
    NO_KEY = auto()
    SUCCESS = auto()
    LIMITED = auto()
    REFUSED = auto()
    TRANSIENT = auto()
    SPENT = auto()
    FATAL = auto()
    WAITED = auto()
    TOO_LONG = auto()


FINAL = frozenset({State.ANSWERED, State.GIVEN_UP, State.ABORTED})

_EXPECTED_TRANSITIONS: dict[State, dict[Event, State]] = {
    State.CHOOSING: {Event.KEY: State.ATTEMPTING, Event.COOLING: State.WAITING, Event.NO_KEY: State.GIVEN_UP},
    State.ATTEMPTING: {
        Event.SUCCESS: State.ANSWERED,
        Event.LIMITED: State.ROTATING,
        Event.REFUSED: State.CHOOSING,
        Event.TRANSIENT: State.WAITING,
        Event.SPENT: State.GIVEN_UP,
        Event.FATAL: State.ABORTED,
    },
    State.ROTATING: {Event.KEY: State.ATTEMPTING, Event.COOLING: State.WAITING, Event.NO_KEY: State.GIVEN_UP},
    State.WAITING: {Event.WAITED: State.ATTEMPTING, Event.TOO_LONG: State.GIVEN_UP, Event.NO_KEY: State.GIVEN_UP},
}

TABLE: dict[tuple[State, Event], State] = {
    (state, event): state if state in FINAL else _EXPECTED_TRANSITIONS[state].get(event, State.ABORTED)
    for state in State
    for event in Event
}
"""The next state for every (state, event)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the machine. `keys` is the number of keys, 0 for a provider without; `last`: no candidate follows."""

    retries: int
    keys: int = 0
    last: bool = True

    @property
    def transitions(self) -> int:
        """Upper bound of the steps that any sequence of events takes to a final state."""
        return 1 + (self.retries + 1) * (2 * max(self.keys, 1) + 1)


@dataclass(frozen=True, slots=True)
class Position:
    """A state with its counters: retries used, and key rotations since the last wait."""

    state: State = State.CHOOSING
    retries: int = 0
    rotations: int = 0


def advance(position: Position, event: Event, limits: Limits) -> Position:
    """Return the position after an event: first the transition table, then the limits.

    A change of key is not a retry; every key is used at most once between two waits. Once all keys were used, a 429
    leads to waiting, and a 401 to given_up because no key is left.
    """
    target = TABLE[position.state, event]
    if position.state is State.CHOOSING and event is Event.COOLING and not limits.last:
        target = State.GIVEN_UP
    if position.state is State.ATTEMPTING and target in _KEY_SELECTION_STATES:
        if position.rotations + 1 < limits.keys:
            return Position(target, position.retries, position.rotations + 1)
        target = State.WAITING if target is State.ROTATING else State.GIVEN_UP
    if target is State.WAITING:
        if position.retries >= limits.retries:
            return Position(State.GIVEN_UP, position.retries, position.rotations)
        return Position(target, position.retries + 1, 0)
    return Position(target, position.retries, position.rotations)


def event_of(error: SophonError) -> Event:
    """Return the event for an error of an attempt. After visible text every error is fatal: nothing is repeated."""
    if isinstance(error, BudgetExceeded):
        return Event.SPENT
    if not isinstance(error, ModelError) or error.visible:
        return Event.FATAL
    if isinstance(error, RateLimited):
        return Event.LIMITED
    if isinstance(error, AuthenticationFailed):
        return Event.REFUSED
    return Event.TRANSIENT if isinstance(error, TRANSIENT) else Event.FATAL


TRANSIENT = (Overloaded, ProviderUnavailable, ModelTimeout)
"""Errors caused by the state of the provider, which a retry may resolve."""

_KEY_SELECTION_STATES = frozenset({State.ROTATING, State.CHOOSING})
