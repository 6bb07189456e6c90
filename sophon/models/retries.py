"""The retries on one model as a pure state machine: what follows when an attempt, a search for a key or a wait ends.

    choosing    --key--> attempting; --cooling--> waiting when nobody else is left, else given_up; --no_key--> given_up
    attempting  --success--> answered; --limited--> rotating; --refused--> choosing; --transient--> waiting;
                --spent--> given_up; --fatal--> aborted
    rotating    --key--> attempting; --cooling--> waiting; --no_key--> given_up
    waiting     --waited--> attempting; --too_long--> given_up; --no_key--> given_up

answered, given_up (ask the next candidate) and aborted (the error leaves the gateway) are final. A pair that cannot
happen ends in aborted, so that no mistake of a driver can go round for ever.
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
    """Where the call stands on one model."""

    CHOOSING = auto()
    ATTEMPTING = auto()
    ROTATING = auto()
    WAITING = auto()
    ANSWERED = auto()
    GIVEN_UP = auto()
    ABORTED = auto()


class Event(Enum):
    """What happened."""

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

_EXPECTED: dict[State, dict[Event, State]] = {
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
    (state, event): state if state in FINAL else _EXPECTED[state].get(event, State.ABORTED)
    for state in State
    for event in Event
}
"""Every pair."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the machine; `keys` is 0 for a provider without any, `last` tells that nobody else can be asked."""

    retries: int
    keys: int = 0
    last: bool = True

    @property
    def transitions(self) -> int:
        """No sequence of events takes more steps than this to a final state."""
        return 1 + (self.retries + 1) * (2 * max(self.keys, 1) + 1)


@dataclass(frozen=True, slots=True)
class Position:
    """A state with its counters: retries used up, and changes of key since the last wait."""

    state: State = State.CHOOSING
    retries: int = 0
    rotations: int = 0


def advance(position: Position, event: Event, limits: Limits) -> Position:
    """The position after an event: the table, then the limits.

    A change of key is no retry; there is at most one pass over the keys between two waits. After a 429 a spent pass
    means waiting, after a 401 it means that no key is left.
    """
    target = TABLE[position.state, event]
    if position.state is State.CHOOSING and event is Event.COOLING and not limits.last:
        target = State.GIVEN_UP
    if position.state is State.ATTEMPTING and target in _KEY_SEARCH:
        if position.rotations + 1 < limits.keys:
            return Position(target, position.retries, position.rotations + 1)
        target = State.WAITING if target is State.ROTATING else State.GIVEN_UP
    if target is State.WAITING:
        if position.retries >= limits.retries:
            return Position(State.GIVEN_UP, position.retries, position.rotations)
        return Position(target, position.retries + 1, 0)
    return Position(target, position.retries, position.rotations)


def event_of(error: SophonError) -> Event:
    """What the end of an attempt means. After visible text nothing is repeated, whatever the error."""
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
"""Errors that say something of the provider, and that a repeat may cure."""

_KEY_SEARCH = frozenset({State.ROTATING, State.CHOOSING})
