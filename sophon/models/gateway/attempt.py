"""One attempt: reserve budget, call the model once, settle or release the reservation, and record the outcome."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from sophon.errors import AuthenticationFailed, ModelError, RateLimited
from sophon.events import Emit, ModelAttempt
from sophon.messages import Usage
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.budget_accounting import AttemptAccounting
from sophon.models.gateway.error_classification import classify_error
from sophon.models.gateway.gateway_dependencies import GatewayDependencies
from sophon.models.gateway.provider import Candidate
from sophon.models.gateway.streaming import OutputLatch, StreamTap
from sophon.models.model import Meter, ModelInfo, ModelRequest, ModelResponse


class AttemptRecord(NamedTuple):
    """Record of one attempt; `outcome` is `ok`, `cancelled` or the code of the error."""

    model: str
    outcome: str
    duration_ms: int
    detail: str = ""


@dataclass(slots=True)
class CallHooks:
    """Hooks of one gateway call, shared by all its attempts: meter, event emitter, stop check and output latch."""

    meter: Meter | None = None
    emit: Emit | None = None
    check: Callable[[], None] | None = None
    output_latch: OutputLatch | None = None

    @property
    def has_output(self) -> bool:
        """Whether text has reached the caller, after which nothing is repeated."""
        return self.output_latch is not None and self.output_latch.has_output


class AttemptRunner:
    """Runs the attempts of one call and keeps their records.

    Nothing stays reserved, whatever the outcome: success settles with the reported usage (estimated if there is none);
    failure releases, or charges the produced text if the model had begun to stream; cancellation charges the input and
    the produced text.
    """

    __slots__ = ("_context", "_hooks", "records")

    def __init__(self, gateway_dependencies: GatewayDependencies, hooks: CallHooks) -> None:
        self._context = gateway_dependencies
        self._hooks = hooks
        self.records: list[AttemptRecord] = []

    async def run(self, candidate: Candidate, request: ModelRequest, key: str | None) -> ModelResponse:
        """Call the model once. Raises the provider's error as a ModelError, and BudgetExceeded from the meter."""
        hooks = self._hooks
        if hooks.check is not None:
            hooks.check()
        accounting = self._open_accounting(request, key)
        if hooks.meter is not None:
            await accounting.reserve(hooks.meter)
        candidate.provider.attempts += 1
        try:
            if self._context.options.attempt_timeout_seconds is None:
                response = await candidate.model.complete(accounting.request)
            else:
                response = await self._complete_with_timeout(candidate, accounting.request)
            if not isinstance(response, ModelResponse):  # pyright: ignore[reportUnnecessaryIsInstance] - a third-party model
                _raise_not_a_response(response)
        except asyncio.CancelledError:
            self._record(accounting, "cancelled", await accounting.charge())
            raise
        except Exception as error:
            failure = self._classify(candidate, error, accounting.tap)
            await self._settle_failure(candidate, accounting, failure)
            if failure is error:
                raise
            raise failure from error
        return await self._settle_success(candidate, accounting, response)

    def _open_accounting(self, request: ModelRequest, key: str | None) -> AttemptAccounting:
        tap = None
        if request.on_text is not None:
            tap = StreamTap(request.on_text, self._hooks.check)
            request = request.copy_with(on_text=tap, key=key)
        elif request.key != key:
            # A copy, so that a request kept from an earlier attempt still shows the key of that attempt.
            request = request.copy_with(key=key)
        context = self._context
        return AttemptAccounting(request, tap, context.clock.monotonic(), context.tokens, self._hooks.meter)

    async def _complete_with_timeout(self, candidate: Candidate, request: ModelRequest) -> ModelResponse:
        async with self._context.clock.timeout(self._context.options.attempt_timeout_seconds):
            return await candidate.model.complete(request)

    async def _settle_success(
        self, candidate: Candidate, accounting: AttemptAccounting, response: ModelResponse
    ) -> ModelResponse:
        request, tap, keys = accounting.request, accounting.tap, candidate.provider.keys
        usage = await accounting.settle(response)
        if keys is not None and request.key is not None:
            keys.end_cooldown(request.key, request.model.name)
        self._record(accounting, "ok", usage)
        if tap is not None and not tap.pieces:
            # The model did not stream: send its text in one piece.
            tap(response.text)
        # A new object, because the model may return the same one again.
        return ModelResponse(
            response.text, response.tool_calls, usage, normalise_finish_reason(response), request.model
        )

    def _classify(self, candidate: Candidate, error: Exception, tap: StreamTap | None) -> Exception:
        """Classify the error; AssertionError and the listener's own exceptions are returned unchanged."""
        failure = error
        if not isinstance(error, AssertionError) and (tap is None or tap.listener_error is not error):
            failure = classify_error(error, candidate.provider.id, candidate.info.name, now=self._context.clock.now())
        if isinstance(failure, ModelError):
            failure.visible = self._hooks.has_output
        return failure

    async def _settle_failure(self, candidate: Candidate, accounting: AttemptAccounting, failure: Exception) -> None:
        provider, key = candidate.provider, accounting.request.key
        code = str(getattr(failure, "code", type(failure).__name__))
        provider.failures += 1
        provider.last_error = code
        if key is not None and provider.keys is not None:
            penalise_key(provider.keys, key, candidate.info, failure, self._context.options.key_cooldown_seconds)
        has_streamed = accounting.tap is not None and accounting.tap.pieces
        usage = await (accounting.charge() if has_streamed else accounting.release())
        self._record(accounting, code, usage, str(failure))

    def _record(self, accounting: AttemptAccounting, outcome: str, usage: Usage, detail: str = "") -> None:
        duration = round((self._context.clock.monotonic() - accounting.started_at) * 1000)
        model, purpose = accounting.request.model.id, accounting.request.purpose
        self.records.append(AttemptRecord(model, outcome, duration, detail))
        if self._hooks.emit is not None:
            self._hooks.emit(
                ModelAttempt(
                    purpose=purpose, model=model, outcome=outcome, duration_ms=duration, usage=usage, detail=detail
                )
            )


def normalise_finish_reason(response: ModelResponse) -> Literal["stop", "tool_calls", "length"]:
    """Return `tool_calls` if and only if there are tool calls, whatever the provider reported."""
    if response.tool_calls:
        return "tool_calls"
    return "stop" if response.finish_reason == "tool_calls" else response.finish_reason


def penalise_key(keys: ApiKeyPool, key: str, model: ModelInfo, failure: Exception, cooldown_seconds: float) -> None:
    """Apply a failure to its key: a rate limit (429) starts a cool-down for this model; 401 and 403 disable the key.

    An overload has no effect, because it does not depend on the key.
    """
    if isinstance(failure, AuthenticationFailed):
        keys.disable_key(key)
    elif isinstance(failure, RateLimited):
        retry_after = failure.retry_after
        seconds = cooldown_seconds if retry_after is None else retry_after
        keys.cool_down(key, seconds, model.name, is_provider_requested=retry_after is not None)


def _raise_not_a_response(value: object) -> NoReturn:
    raise TypeError(f"the model returned {value!r:.80}, which is not a ModelResponse")
