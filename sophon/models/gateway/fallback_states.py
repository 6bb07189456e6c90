"""Fallback state machine of one model call: seven states, from the first candidate to an answer or an error.

::

    idle        --start--> selecting
    selecting   --provider_success (a candidate is left)--> attempting; --fatal_error (none is left)--> exhausted
    attempting  --provider_success--> succeeded; --retryable_error, timeout--> retrying;
                --fatal_error, user_abort--> aborted
    retrying    --provider_success (the wait is over)--> attempting;
                --retryable_error--> attempting, or selecting once the retries are used up;
                --timeout (no wait is worth it)--> selecting; --fatal_error, user_abort--> aborted

succeeded, exhausted and aborted are final and absorb every event; any other pair is an `InvalidTransition`. Fatal
errors are: context overflow (it is handled by compaction), a rejected request (BadRequest), an unclassified error
(probably a defect in Sophon), and every error after visible text.

Source: ClawDesk, fallback machine, the table of the page. The bound that the page names, 2n + 1 transitions with n
candidates, does not hold for its own table as soon as one of them fails: with r retries each it takes up to
n(2r + 3) + 2 (`FallbackLimits`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import (
    AuthenticationFailed,
    BudgetExceeded,
    MessageTooLarge,
    ModelTimeout,
    NoProvider,
    RateLimited,
    SophonError,
)
from sophon.events import Emit, ModelFallback
from sophon.models.gateway.retry_states import TRANSIENT_ERRORS


class FallbackState(Enum):
    """State of a model call; the value is its name in the trace."""

    IDLE = "idle"
    SELECTING = "selecting"
    ATTEMPTING = "attempting"
    SUCCEEDED = "succeeded"
    RETRYING = "retrying"
    EXHAUSTED = "exhausted"
    ABORTED = "aborted"


class FallbackEvent(Enum):
    """Event that moves a model call to another state."""

    START = "start"
    PROVIDER_SUCCESS = "provider_success"
    RETRYABLE_ERROR = "retryable_error"
    FATAL_ERROR = "fatal_error"
    USER_ABORT = "user_abort"
    TIMEOUT = "timeout"


class InvalidTransition(Exception):
    """Defect: an event that is impossible in the state."""


_S, _E = FallbackState, FallbackEvent

FINAL_STATES: Final = frozenset({_S.SUCCEEDED, _S.EXHAUSTED, _S.ABORTED})

TRANSITIONS: Final[Mapping[tuple[FallbackState, FallbackEvent], FallbackState]] = {
    (_S.IDLE, _E.START): _S.SELECTING,
    (_S.SELECTING, _E.PROVIDER_SUCCESS): _S.ATTEMPTING,
    (_S.SELECTING, _E.FATAL_ERROR): _S.EXHAUSTED,
    (_S.ATTEMPTING, _E.PROVIDER_SUCCESS): _S.SUCCEEDED,
    (_S.ATTEMPTING, _E.RETRYABLE_ERROR): _S.RETRYING,
    (_S.ATTEMPTING, _E.TIMEOUT): _S.RETRYING,
    (_S.ATTEMPTING, _E.FATAL_ERROR): _S.ABORTED,
    (_S.ATTEMPTING, _E.USER_ABORT): _S.ABORTED,
    (_S.RETRYING, _E.PROVIDER_SUCCESS): _S.ATTEMPTING,
    (_S.RETRYING, _E.RETRYABLE_ERROR): _S.ATTEMPTING,
    (_S.RETRYING, _E.TIMEOUT): _S.SELECTING,
    (_S.RETRYING, _E.FATAL_ERROR): _S.ABORTED,
    (_S.RETRYING, _E.USER_ABORT): _S.ABORTED,
}
"""The published table. `advance_fallback` adds the counts of candidates and retries."""


@dataclass(frozen=True, slots=True)
class FallbackLimits:
    """Number of candidates, and of the retries of each after its first attempt."""

    candidates: int
    max_retries: int = 3

    @property
    def max_transitions(self) -> int:
        """Upper bound of the transitions that any sequence of possible events takes to a final state."""
        return self.candidates * (2 * self.max_retries + 3) + 2


@dataclass(frozen=True, slots=True)
class FallbackPosition:
    """State with the candidates tried, the retries of the present one, and the transitions so far."""

    state: FallbackState = FallbackState.IDLE
    tried: int = 0
    retries: int = 0
    transitions: int = 0


IDLE = FallbackPosition()


def advance_fallback(position: FallbackPosition, event: FallbackEvent, limits: FallbackLimits) -> FallbackPosition:
    """Return the position after an event. Raises InvalidTransition.

    Without a candidate left selecting leads to exhausted, and without a retry left retrying leads to selecting.
    """
    state = position.state
    if state in FINAL_STATES:
        return position
    target = TRANSITIONS.get((state, event))
    if target is None:
        raise InvalidTransition(f"{event.value} is impossible while {state.value}")
    following = replace(position, state=target, transitions=position.transitions + 1)
    if state is FallbackState.SELECTING and target is FallbackState.ATTEMPTING:
        if position.tried >= limits.candidates:
            return replace(following, state=FallbackState.EXHAUSTED)
        return replace(following, tried=position.tried + 1, retries=0)
    if state is FallbackState.RETRYING and target is FallbackState.ATTEMPTING:
        if position.retries >= limits.max_retries:
            return replace(following, state=FallbackState.SELECTING)
        return replace(following, retries=position.retries + 1)
    return following


def fallback_event_from_error(error: SophonError, has_output: bool = False) -> FallbackEvent:
    """Return the event for the error with which a candidate's call ended. `has_output`: text was already shown, which
    makes any error fatal.
    """
    if has_output or not isinstance(error, _FALLBACK_ERRORS):
        return FallbackEvent.FATAL_ERROR
    return FallbackEvent.TIMEOUT if isinstance(error, ModelTimeout) else FallbackEvent.RETRYABLE_ERROR


def select_final_error(errors: Sequence[SophonError], has_output: bool = False) -> SophonError:
    """Return the error that the gateway raises: the last error of a model.

    BudgetExceeded is returned only if no model was called or if it interrupted text that was being shown; NoProvider
    if there was no candidate.
    """
    if not errors:
        return NoProvider("no provider is available; configure one, or wait until one has recovered")
    failed = [error for error in errors if not isinstance(error, BudgetExceeded)]
    return failed[-1] if failed and not has_output else errors[-1]


_FALLBACK_ERRORS = (
    *(*TRANSIENT_ERRORS, RateLimited, AuthenticationFailed, NoProvider, MessageTooLarge),
    # Not a failure of the candidate: its budget skips it, as a refused key does.
    BudgetExceeded,
)


class FallbackRun:
    """States of a call, told candidate by candidate; a call whose first attempt succeeds needs none.

    `attempts` are those of the call so far. An attempt with another key, and one that a call layer repeats, is no
    retry: more attempts than a candidate has retries are not counted.
    """

    __slots__ = ("_candidates", "_max_retries", "_position", "_states", "_told")

    def __init__(self, candidates: int, max_retries: int) -> None:
        self._candidates, self._max_retries = candidates, max_retries
        self._position, self._told = IDLE, 0
        self._states: tuple[str, ...] = (IDLE.state.value,)

    def fail(self, error: SophonError, attempts: int, *, has_output: bool) -> bool:
        """Record that a candidate ended with an error; return whether the call is over."""
        self._try_candidate(attempts - self._told - 1, fallback_event_from_error(error, has_output))
        self._told = attempts
        if self._position.state is FallbackState.RETRYING:
            self._advance(FallbackEvent.TIMEOUT)
        return self._position.state is FallbackState.ABORTED

    def succeed(self, emit: Emit | None, purpose: str, attempts: int) -> None:
        """Record that a candidate answered, and send the states to the trace."""
        self._try_candidate(attempts - self._told - 1, FallbackEvent.PROVIDER_SUCCESS)
        self._tell(emit, purpose)

    def abort(self, emit: Emit | None, purpose: str, attempts: int, *, is_waiting: bool) -> None:
        """Record that the person or the host cancelled the call, and send the states to the trace. `is_waiting`: the
        last attempt had failed.
        """
        last = FallbackEvent.RETRYABLE_ERROR if is_waiting else FallbackEvent.USER_ABORT
        self._try_candidate(attempts - self._told - 1, last)
        if is_waiting:
            self._advance(FallbackEvent.USER_ABORT)
        self._tell(emit, purpose)

    def give_up(self, emit: Emit | None, purpose: str) -> None:
        """Record that no candidate is left, unless the call was aborted, and send the states to the trace."""
        if self._position.state is FallbackState.IDLE:
            self._advance(FallbackEvent.START)
        if self._position.state is FallbackState.SELECTING:
            self._advance(FallbackEvent.FATAL_ERROR)
        self._tell(emit, purpose)

    def _try_candidate(self, retries: int, event: FallbackEvent) -> None:
        if self._position.state is FallbackState.IDLE:
            self._advance(FallbackEvent.START)
        self._advance(FallbackEvent.PROVIDER_SUCCESS)
        for _ in range(min(retries, self._max_retries)):
            self._advance(FallbackEvent.RETRYABLE_ERROR)
            self._advance(FallbackEvent.PROVIDER_SUCCESS)
        self._advance(event)

    def _tell(self, emit: Emit | None, purpose: str) -> None:
        if emit is not None:
            most = FallbackLimits(self._candidates, self._max_retries).max_transitions
            emit(ModelFallback(purpose=purpose, states=self._states, max_transitions=most))

    def _advance(self, event: FallbackEvent) -> None:
        limits = FallbackLimits(self._candidates, self._max_retries)
        self._position = advance_fallback(self._position, event, limits)
        self._states += (self._position.state.value,)
