"""Fallback run: the fallback machine over one model call of the gateway, for its decisions and the trace."""

from sophon.events import Emit, ModelFallback
from sophon.models.gateway.fallback_machine import (
    FallbackEvent,
    FallbackLimits,
    FallbackPosition,
    FallbackState,
    advance_fallback,
)


class FallbackRun:
    """States of a call, told candidate by candidate. It is made when the first attempt of a call has failed.

    An attempt with another key, and one that a call layer repeats, is no retry: more attempts than a candidate has
    retries are not counted.
    """

    __slots__ = ("_limits", "_position", "_states")

    def __init__(self, candidates: int, max_retries: int) -> None:
        self._limits = FallbackLimits(candidates, max_retries)
        self._position = FallbackPosition()
        self._states = [self._position.state]
        self._advance(FallbackEvent.START)

    def end_candidate(self, failed_attempts: int, event: FallbackEvent) -> FallbackState:
        """Record how the next candidate ended, after `failed_attempts`, which contain the last one unless it succeeded.

        Returns the state: succeeded, aborted, or selecting for another candidate.
        """
        self._advance(FallbackEvent.PROVIDER_SUCCESS)
        has_succeeded = event is FallbackEvent.PROVIDER_SUCCESS
        retries = failed_attempts if has_succeeded else failed_attempts - 1
        for _ in range(min(max(retries, 0), self._limits.max_retries)):
            self._advance(FallbackEvent.RETRYABLE_ERROR)
            self._advance(FallbackEvent.PROVIDER_SUCCESS)
        self._advance(event)
        if self._position.state is FallbackState.RETRYING:
            self._advance(FallbackEvent.TIMEOUT)
        return self._position.state

    def finish(self, emit: Emit | None, purpose: str) -> FallbackState:
        """End a call for which no candidate is left, and send the states to the trace; return the last one."""
        if self._position.state is FallbackState.SELECTING:
            self._advance(FallbackEvent.FATAL_ERROR)
        if emit is not None:
            states = tuple(state.value for state in self._states)
            emit(ModelFallback(purpose=purpose, states=states, max_transitions=self._limits.max_transitions))
        return self._position.state

    def _advance(self, event: FallbackEvent) -> None:
        self._position = advance_fallback(self._position, event, self._limits)
        self._states.append(self._position.state)
