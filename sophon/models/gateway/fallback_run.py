"""Fallback run: the fallback machine over one model call of the gateway, for its decisions and the trace."""

from sophon.errors import SophonError
from sophon.events import Emit, ModelFallback
from sophon.models.gateway.attempt import AttemptRunner
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
    """States of a call, told candidate by candidate; a first attempt that succeeds needs none.

    An attempt with another key, and one that a call layer repeats, is no retry: more attempts than a candidate has
    retries are not counted.
    """

    __slots__ = ("_candidates", "_max_retries", "_position", "_runner", "_states", "_told")

    def __init__(self, candidates: int, max_retries: int, runner: AttemptRunner) -> None:
        self._candidates, self._max_retries, self._runner = candidates, max_retries, runner
        self._position, self._told = IDLE, 0
        self._states: tuple[str, ...] = (IDLE.state.value,)

    def fail(self, error: SophonError) -> bool:
        """Record that a candidate ended with an error; return whether the call is over."""
        attempts = len(self._runner.records) - self._told
        self._told += attempts
        self._try_candidate(attempts - 1, fallback_event_from_error(error, self._runner.has_output))
        if self._position.state is FallbackState.RETRYING:
            self._advance(FallbackEvent.TIMEOUT)
        return self._position.state is FallbackState.ABORTED

    def succeed(self, emit: Emit | None, purpose: str) -> None:
        """Record that a candidate answered, and send the states to the trace."""
        failed = len(self._runner.records) - self._told - 1
        if failed > 0 or self._position is not IDLE:
            self._try_candidate(failed, FallbackEvent.PROVIDER_SUCCESS)
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
