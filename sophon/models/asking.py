"""One model asked until it answers or is given up: the driver of the machine in retries.py."""

from dataclasses import dataclass

from sophon.errors import AuthenticationFailed, BudgetExceeded, ModelError, RateLimited
from sophon.events import AgentStatus, Emit
from sophon.models.attempt import Attempts
from sophon.models.equipment import Equipment
from sophon.models.model import ModelRequest, ModelResponse
from sophon.models.provider import Candidate
from sophon.models.retries import FINAL, TRANSIENT, Event, Limits, Position, State, advance, event_of


@dataclass(slots=True)
class _Progress:
    """Where the driver stands: `failure` is the last error of a model, or the budget's if no model was asked."""

    key: str | None
    failure: ModelError | BudgetExceeded
    event: Event
    position: Position
    response: ModelResponse | None = None

    def fail(self, error: ModelError | BudgetExceeded) -> None:
        self.event = event_of(error)
        if isinstance(error, ModelError):
            self.failure = error


class Asking:
    """Asks one candidate. `last` tells that nobody else is left, which makes it more patient.

    It is the innermost `Call` of the layers, so it may be awaited several times, each time with all its retries.
    """

    __slots__ = ("_attempts", "_candidate", "_emit", "_equipment", "_last")

    def __init__(
        self, candidate: Candidate, last: bool, attempts: Attempts, equipment: Equipment, emit: Emit | None
    ) -> None:
        self._candidate = candidate
        self._last = last
        self._attempts = attempts
        self._equipment = equipment
        self._emit = emit

    async def __call__(self, request: ModelRequest) -> ModelResponse:
        """Raises the ModelError that ended it, or BudgetExceeded if the model was not asked at all."""
        breaker = self._candidate.provider.breaker
        if breaker.tripped:
            breaker.begin(self._equipment.clock.monotonic())
        try:
            response = await self._first(request)
        except TRANSIENT:
            breaker.fail(self._equipment.clock.monotonic())
            raise
        except BaseException as error:
            # An answer over HTTP, be it a refusal, shows that the provider is there.
            answered = isinstance(error, ModelError) and error.status is not None
            (breaker.succeed if answered else breaker.abandon)()
            raise
        if breaker.tripped:
            breaker.succeed()
        return response

    async def _first(self, request: ModelRequest) -> ModelResponse:
        """The attempt that nearly always is the only one: the machine is not even built."""
        keys = self._candidate.provider.keys
        key = keys.next(self._candidate.info.name) if keys is not None else None
        if keys is not None and key is None:
            progress = self._no_free_key()
        else:
            try:
                return await self._attempts.make(self._candidate, request, key)
            except (ModelError, BudgetExceeded) as error:
                progress = _Progress(key, error, event_of(error), Position(State.ATTEMPTING))
        return await self._drive(request, progress)

    async def _drive(self, request: ModelRequest, progress: _Progress) -> ModelResponse:
        keys = self._candidate.provider.keys
        limits = Limits(self._equipment.options.retries, len(keys) if keys is not None else 0, self._last)
        while True:
            progress.position = advance(progress.position, progress.event, limits)
            state = progress.position.state
            if state in FINAL:
                break
            if state is State.ATTEMPTING:
                await self._attempt(request, progress)
            elif state is State.WAITING:
                await self._wait(progress)
            else:
                self._change_key(progress)
        if progress.response is not None:
            return progress.response
        raise progress.failure

    async def _attempt(self, request: ModelRequest, progress: _Progress) -> None:
        try:
            progress.response = await self._attempts.make(self._candidate, request, progress.key)
            progress.event = Event.SUCCESS
        except (ModelError, BudgetExceeded) as error:
            progress.fail(error)

    def _change_key(self, progress: _Progress) -> None:
        keys, name = self._candidate.provider.keys, self._candidate.info.name
        progress.key = keys.next(name) if keys is not None else None
        if progress.key is not None:
            progress.event = Event.KEY
        else:
            progress.event = Event.NO_KEY if keys is None or keys.exhausted else Event.COOLING

    async def _wait(self, progress: _Progress) -> None:
        seconds, options = self._delay(progress), self._equipment.options
        if seconds > (options.last_patience_seconds if self._last else options.patience_seconds):
            progress.event = Event.TOO_LONG
            return
        if self._emit is not None:
            detail = f"{self._candidate.info.id}: {progress.failure.code}; asking again in {seconds:.1f} s"
            self._emit(AgentStatus(status="retrying", detail=detail))
        await self._equipment.backoff.sleep(seconds)
        self._key_after_wait(progress)

    def _delay(self, progress: _Progress) -> float:
        """Retry-After wins over the back-off; with several keys it is that of the key which is free first."""
        keys, failure = self._candidate.provider.keys, progress.failure
        if keys is not None and isinstance(failure, RateLimited):
            asked = keys.hint(self._candidate.info.name)
        else:
            asked = failure.retry_after if isinstance(failure, ModelError) else None
        if asked is not None:
            return asked
        return self._equipment.backoff.seconds(progress.position.retries)

    def _key_after_wait(self, progress: _Progress) -> None:
        """A free key, else the one that rested longest: the retries are owed even to a single key."""
        keys, name = self._candidate.provider.keys, self._candidate.info.name
        progress.event = Event.WAITED
        if keys is not None:
            progress.key = keys.next(name) or keys.soonest(name)
            if progress.key is None:
                progress.event = Event.NO_KEY

    def _no_free_key(self) -> _Progress:
        provider, info = self._candidate.provider, self._candidate.info
        if provider.keys is not None and provider.keys.exhausted:
            refused = AuthenticationFailed(
                f"every key of provider {provider.id!r} was refused; set a valid one",
                provider=provider.id,
                model=info.name,
            )
            return _Progress(None, refused, Event.NO_KEY, Position())
        resting = RateLimited(
            f"every key of provider {provider.id!r} rests after a rate limit", provider=provider.id, model=info.name
        )
        resting.retry_after = provider.keys.hint(info.name) if provider.keys is not None else None
        return _Progress(None, resting, Event.COOLING, Position())
