"""Retry loop for one candidate: attempts, key rotation, back-off and circuit breaker; drives retry_states.py."""

from datetime import timedelta

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import AuthenticationFailed, BudgetExceeded, ModelError, ModelTimeout, RateLimited
from sophon.events import AgentStatus
from sophon.models.gateway.api_keys import MAX_COOLDOWN_SECONDS
from sophon.models.gateway.attempt_runner import AttemptRunner
from sophon.models.gateway.options import LAST_CANDIDATE_MAX_WAIT_SECONDS, MAX_WAIT_SECONDS
from sophon.models.gateway.retry_delay import find_retry_delay
from sophon.models.gateway.retry_states import (
    FINAL_STATES,
    TRANSIENT_ERRORS,
    RetryEvent,
    RetryLimits,
    RetryPosition,
    RetryState,
    advance_retry,
    retry_event_from_error,
)
from sophon.models.model import ModelRequest, ModelResponse


@dataclass(slots=True)
class _RetryProgress:
    """State of the loop. `failure` is the last ModelError, or BudgetExceeded if the model was never called."""

    key: str | None
    failure: ModelError | BudgetExceeded
    event: RetryEvent
    position: RetryPosition
    started_at: float
    rate_limit_waits: int = 0
    response: ModelResponse | None = None

    def record_failure(self, error: ModelError | BudgetExceeded) -> None:
        self.event = retry_event_from_error(error)
        if isinstance(error, ModelError):
            self.failure = error


class RetryLoop(AttemptRunner):
    """Calls one candidate until it answers or the retries are used up.

    It gives way to a candidate that follows and can be called; else longer waits are allowed. This is the innermost
    `Call` inside the call layers, so it may be awaited several times, each time with all its retries.
    """

    __slots__ = ()

    async def __call__(self, request: ModelRequest) -> ModelResponse:
        """Return the response. Raises the ModelError that ended the loop, or BudgetExceeded if no attempt was made."""
        breaker = self._candidate.provider.breaker
        if breaker.probe_at is not None:
            breaker.start_call(self._context.clock.monotonic())
        # The first attempt, which is usually the only one, needs no state machine.
        keys, started_at = self._candidate.provider.keys, self._context.clock.monotonic()
        key = keys.next_key(self._candidate.info.name) if keys is not None else None
        try:
            if keys is not None and key is None:
                response = await self._run_machine(request, self._progress_without_key(started_at))
            else:
                try:
                    response = await self.run_attempt(request, key)
                except (ModelError, BudgetExceeded) as error:
                    response = await self._run_machine(request, _progress_after_failure(key, error, started_at))
        except TRANSIENT_ERRORS:
            breaker.record_failure(self._context.clock.monotonic())
            raise
        except BaseException as error:
            # An HTTP response, even an error, shows that the provider is reachable.
            answered = isinstance(error, ModelError) and error.status is not None
            (breaker.record_success if answered else breaker.abandon_call)()
            raise
        if breaker.probe_at is not None:
            breaker.record_success()
        return response

    async def _run_machine(self, request: ModelRequest, progress: _RetryProgress) -> ModelResponse:
        keys = self._candidate.provider.keys
        while True:
            own = keys.seconds_until_available(self._candidate.info.name) if keys is not None else 0.0
            limits = RetryLimits(
                self._context.options.max_retries, len(keys) if keys is not None else 0, not self._has_alternative(own)
            )
            progress.position = advance_retry(progress.position, progress.event, limits)
            state = progress.position.state
            if state in FINAL_STATES:
                break
            if state is RetryState.ATTEMPTING:
                await self._attempt(request, progress)
            elif state is RetryState.WAITING:
                await self._wait(progress)
            else:
                self._change_key(progress)
        if progress.response is not None:
            return progress.response
        self._announce_known_pause(progress)
        raise progress.failure

    async def _attempt(self, request: ModelRequest, progress: _RetryProgress) -> None:
        try:
            progress.response = await self.run_attempt(request, progress.key)
            progress.event = RetryEvent.SUCCESS
        except (ModelError, BudgetExceeded) as error:
            progress.record_failure(error)

    def _change_key(self, progress: _RetryProgress) -> None:
        keys, name = self._candidate.provider.keys, self._candidate.info.name
        progress.key = keys.next_key(name) if keys is not None else None
        if progress.key is not None:
            progress.event = RetryEvent.KEY_AVAILABLE
        else:
            progress.event = RetryEvent.NO_KEY if keys is None or keys.is_exhausted else RetryEvent.KEYS_COOLING

    async def _wait(self, progress: _RetryProgress) -> None:
        if self._has_timed_out_for_good(progress):
            progress.event = RetryEvent.WAIT_TOO_LONG
            return
        seconds = self._delay(progress)
        if seconds > self._longest_wait(progress, seconds):
            progress.event = RetryEvent.WAIT_TOO_LONG
            self._announce_pause(progress, seconds)
            return
        if self._call.emit is not None:
            detail = f"{self._candidate.info.id}: {progress.failure.code}; retrying in {seconds:.1f} s"
            self._call.emit(AgentStatus(status="retrying", detail=detail))
        progress.rate_limit_waits += isinstance(progress.failure, RateLimited)
        with self._call.pauses():
            await self._candidate.provider.wait_unless_reset(self._context.clock.sleep(seconds))
        self._select_key_after_wait(progress)

    def _has_alternative(self, own_seconds: float) -> bool:
        """Return whether a candidate that follows can be called soon, or before this one can be in `own_seconds`."""
        soon = max(own_seconds, MAX_WAIT_SECONDS)
        return bool(self._following) and self._seconds_to_alternative() <= soon

    def _longest_wait(self, progress: _RetryProgress, seconds: float) -> float:
        """Return the longest wait before the next attempt; below zero if there must be no wait at all."""
        waits = self._call.rate_limit_waits
        if not self._has_alternative(seconds):
            return LAST_CANDIDATE_MAX_WAIT_SECONDS
        if waits is None or not isinstance(progress.failure, RateLimited):
            return MAX_WAIT_SECONDS
        return LAST_CANDIDATE_MAX_WAIT_SECONDS if progress.rate_limit_waits < waits else -1.0

    def _has_timed_out_for_good(self, progress: _RetryProgress) -> bool:
        """Return whether the last attempt timed out and the candidate's attempts have used up the time of a whole one.

        Otherwise a provider that answers nothing would occupy the turn for the timeout of every retry.
        """
        most = self._find_limits().attempt_timeout_seconds
        used = self._context.clock.monotonic() - progress.started_at
        return isinstance(progress.failure, ModelTimeout) and most is not None and used >= most

    def _announce_known_pause(self, progress: _RetryProgress) -> None:
        """Say until when, also if it is no wait but the number of attempts that ends the retries."""
        if isinstance(progress.failure, ModelError) and progress.failure.unavailable_until is None:
            seconds = self._delay(progress)
            if seconds > LAST_CANDIDATE_MAX_WAIT_SECONDS:
                self._announce_pause(progress, seconds)

    def _announce_pause(self, progress: _RetryProgress, seconds: float) -> None:
        """Say in the error, and in a status event, when the provider is used again; the wait is too long for a call."""
        if not isinstance(progress.failure, ModelError):
            return
        keys = self._candidate.provider.keys
        paused = keys.seconds_until_available(self._candidate.info.name) if keys is not None else seconds
        # At most an hour, whatever the provider asked for: then its key is tried again.
        until = self._context.clock.now() + timedelta(seconds=min(paused or seconds, MAX_COOLDOWN_SECONDS))
        progress.failure.set_unavailable_until(until)
        if self._call.emit is not None:
            until_text = progress.failure.unavailable_until
            detail = f"{self._candidate.info.id}: {progress.failure.code}; not called again before {until_text}"
            self._call.emit(AgentStatus(status="retrying", detail=detail))

    def _delay(self, progress: _RetryProgress) -> float:
        keys, model = self._candidate.provider.keys, self._candidate.info.name
        retries, random = progress.position.retries, self._context.clock.random
        return find_retry_delay(progress.failure, keys, model, retries=retries, random=random)

    def _select_key_after_wait(self, progress: _RetryProgress) -> None:
        """Select an available key, else one that cools down: a single key gets all its retries."""
        keys, name = self._candidate.provider.keys, self._candidate.info.name
        progress.event = RetryEvent.WAIT_FINISHED
        if keys is not None:
            progress.key = keys.next_key(name) or keys.earliest_key(name)
            if progress.key is None:
                progress.event = RetryEvent.NO_KEY

    def _progress_without_key(self, started_at: float) -> _RetryProgress:
        provider, info = self._candidate.provider, self._candidate.info
        if provider.keys is not None and provider.keys.is_exhausted:
            rejected = AuthenticationFailed(
                f"every key of provider {provider.id!r} was rejected; set a valid key",
                provider=provider.id,
                model=info.name,
            )
            return _RetryProgress(None, rejected, RetryEvent.NO_KEY, RetryPosition(), started_at)
        cooling = RateLimited(
            f"every key of provider {provider.id!r} is cooling down after a rate limit or an overload",
            provider=provider.id,
            model=info.name,
        )
        if provider.keys is not None:
            cooling.retry_after = provider.keys.retry_after_seconds(info.name)
            seconds = provider.keys.seconds_until_available(info.name)
            cooling.set_unavailable_until(self._context.clock.now() + timedelta(seconds=seconds))
        return _RetryProgress(None, cooling, RetryEvent.KEYS_COOLING, RetryPosition(), started_at)


def _progress_after_failure(key: str | None, error: ModelError | BudgetExceeded, started_at: float) -> _RetryProgress:
    position = RetryPosition(RetryState.ATTEMPTING)
    return _RetryProgress(key, error, retry_event_from_error(error), position, started_at)
