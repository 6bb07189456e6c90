"""Fallback run: the fallback machine over one model call of the gateway, for its decisions and the trace."""

from sophon.errors import SophonError
from sophon.events import Emit, ModelFallback
from sophon.models.gateway.fallback_machine import (
    FallbackEvent,
    FallbackLimits,
    FallbackPosition,
    FallbackState,
    advance_fallback,
    fallback_event_from_error,
)

IDLE = FallbackPosition()


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
        """Record that a candidate answered, and send the states to the trace, unless it was the first attempt."""
        if attempts <= 1 and self._position is IDLE:  # none: a call layer has answered
            return
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
