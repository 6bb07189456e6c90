"""One attempt: reserve budget, call the model once, settle or release the reservation, and record the outcome."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, cast

from sophon.cancellation import Cancellation
from sophon.errors import AuthenticationFailed, ModelError, Overloaded, ProviderUnavailable, RateLimited
from sophon.events import Emit, ModelAttempt
from sophon.messages import Usage
from sophon.models.gateway.api_keys import MAX_COOLDOWN_SECONDS, ApiKeyPool
from sophon.models.gateway.attempt_deadline import AttemptDeadline
from sophon.models.gateway.budget_accounting import AttemptAccounting
from sophon.models.gateway.error_classification import classify_error
from sophon.models.gateway.gateway_dependencies import GatewayDependencies
from sophon.models.gateway.provider import Candidate
from sophon.models.gateway.response_check import check_reply_size, check_response
from sophon.models.gateway.streaming import OutputLatch, StreamTap
from sophon.models.model import AttemptOutput, Meter, ModelInfo, ModelRequest, ModelResponse
from sophon.models.reply_size import ReplySize


class AttemptRecord(NamedTuple):
    """Record of one attempt; `outcome` is `ok`, `cancelled` or the code of the error."""

    model: str
    outcome: str
    duration_ms: int
    detail: str = ""


class AttemptRunner:
    """Runs the attempts of one call and keeps their records.

    Nothing stays reserved, whatever the outcome: success settles with the reported usage (estimated if there is none);
    failure releases, or charges what has cost something (attempt_cost.py); cancellation charges the input and all that
    was produced. A model that raises CancelledError although nobody cancelled has failed; one that returns after
    its timeout has timed out.
    """

    __slots__ = ("_cancellation", "_check", "_context", "_emit", "_meter", "_output_latch", "records")

    def __init__(
        self,
        gateway_dependencies: GatewayDependencies,
        meter: Meter | None,
        emit: Emit | None,
        check: Callable[[], None] | None,
        output_latch: OutputLatch | None,
        cancellation: Cancellation,
    ) -> None:
        self._context = gateway_dependencies
        self._meter, self._emit, self._check = meter, emit, check
        self._output_latch, self._cancellation = output_latch, cancellation
        self.records: Sequence[AttemptRecord] = ()
        """What became of the attempts; a first attempt that succeeds leaves none."""

    @property
    def has_output(self) -> bool:
        """Whether text has reached the caller, after which nothing is repeated."""
        return self._output_latch is not None and self._output_latch.has_output

    async def run(self, candidate: Candidate, request: ModelRequest, key: str | None) -> ModelResponse:
        """Call the model once. Raises the provider's error as a ModelError, and BudgetExceeded from the meter."""
        await self._cancellation.checkpoint()
        if self._check is not None:
            self._check()
        accounting = self._open_accounting(request, key)
        if self._meter is not None:
            await accounting.reserve(self._meter)
        candidate.provider.attempts += 1
        output = accounting.output
        try:
            with self._deadline(candidate, accounting):
                response = await candidate.model.complete(accounting.request)
            if isinstance(cast(object, response), ModelResponse):
                # Noted before the checks: an answer was paid for, also if it turns out to be of no use.
                output.has_begun, output.usage = True, response.usage
            response = check_response(response)
            check_reply_size(response, output.size.max_bytes)
        except asyncio.CancelledError as error:
            stopped_by_listener = accounting.tap is not None and accounting.tap.listener_error is error
            if self._cancellation.is_requested or stopped_by_listener:
                self._record(accounting, "cancelled", await accounting.charge())
                raise
            own = _own_cancellation_error(candidate, self.has_output)
            await self._settle_failure(candidate, accounting, own)
            raise own from error
        except Exception as error:
            failure = self._classify(candidate, error, accounting.tap)
            await self._settle_failure(candidate, accounting, failure)
            if failure is error:
                raise
            raise failure from error
        return self._complete_success(candidate, accounting, response, await accounting.settle(response))

    def _open_accounting(self, request: ModelRequest, key: str | None) -> AttemptAccounting:
        most = self._context.options.max_reply_bytes
        if request.max_reply_bytes is not None and request.max_reply_bytes < most:
            most = request.max_reply_bytes
        tap, output = None, AttemptOutput(size=ReplySize(most))
        if self._output_latch is not None:
            self._output_latch.restart()
        if request.on_text is not None:
            streamed = ReplySize(most)
            tap = StreamTap(request.on_text, self._check, streamed)
            reasoning_tap = None
            if request.on_reasoning is not None:
                reasoning_tap = StreamTap(request.on_reasoning, self._check, streamed)
                tap.reasoning = reasoning_tap
            request = request.copy_with(on_text=tap, on_reasoning=reasoning_tap, key=key, output=output)
        elif request.output is None:
            request.key, request.output = key, output
        else:
            # A copy, so that a request kept from an earlier attempt still shows the key and the notes of that attempt.
            request = request.copy_with(key=key, output=output)
        context = self._context
        return AttemptAccounting(request, output, tap, context.clock.monotonic(), context.tokens, self._meter)

    def _deadline(self, candidate: Candidate, accounting: AttemptAccounting) -> AttemptDeadline:
        tap, context = accounting.tap, self._context
        return AttemptDeadline(
            context.clock,
            context.limits_of(candidate.provider),
            accounting.output,
            tap,
            accounting.started_at,
            is_streamed=tap is not None and candidate.info.streaming,
        )

    def _complete_success(
        self, candidate: Candidate, accounting: AttemptAccounting, response: ModelResponse, usage: Usage
    ) -> ModelResponse:
        """Return the response as a new object, because the model may return the same one again; record the success."""
        request, tap, keys = accounting.request, accounting.tap, candidate.provider.keys
        if keys is not None and request.key is not None:
            keys.end_cooldown(request.key, request.model.name)
        if self._emit is not None or self.records:
            self._record(accounting, "ok", usage)
        if tap is not None:
            # The model did not stream: send its reasoning and its text in one piece each.
            if tap.reasoning is not None and not tap.reasoning.pieces:
                tap.reasoning(response.reasoning)
            if not tap.pieces:
                tap(response.text)
        reason = normalise_finish_reason(response)
        if type(response) is not ModelResponse:
            return response.copy_with(usage=usage, finish_reason=reason, model=request.model)
        reasoning, fields = response.reasoning, response.reasoning_fields
        return ModelResponse(response.text, response.tool_calls, usage, reason, request.model, reasoning, fields)

    def _classify(self, candidate: Candidate, error: Exception, tap: StreamTap | None) -> Exception:
        """Classify the error; AssertionError and the listener's own exceptions are returned unchanged."""
        failure = error
        if not isinstance(error, AssertionError) and (tap is None or not tap.has_raised(error)):
            failure = classify_error(error, candidate.provider.id, candidate.info.name, now=self._context.clock.now())
        if isinstance(failure, ModelError):
            failure.visible = self.has_output
        return failure

    async def _settle_failure(self, candidate: Candidate, accounting: AttemptAccounting, failure: Exception) -> None:
        provider, key = candidate.provider, accounting.request.key
        code = str(getattr(failure, "code", type(failure).__name__))
        provider.failures += 1
        provider.last_error = code
        if key is not None and provider.keys is not None:
            penalise_key(provider.keys, key, candidate.info, failure, self._context.options.key_cooldown_seconds)
        self._record(accounting, code, await accounting.end_failed(failure), str(failure))

    def _record(self, accounting: AttemptAccounting, outcome: str, usage: Usage, detail: str = "") -> None:
        duration = round((self._context.clock.monotonic() - accounting.started_at) * 1000)
        model, purpose = accounting.request.model.id, accounting.request.purpose
        self.records = [*self.records, AttemptRecord(model, outcome, duration, detail)]
        if self._emit is not None:
            self._emit(
                ModelAttempt(
                    purpose=purpose, model=model, outcome=outcome, duration_ms=duration, usage=usage, detail=detail
                )
            )


def normalise_finish_reason(response: ModelResponse) -> Literal["stop", "tool_calls", "length"]:
    """Return `tool_calls` if and only if there are tool calls, else `length` if the model reported it, else `stop`.

    A model of one's own may report anything, also what ends a turn in another way, such as `suspended`.
    """
    if response.tool_calls:
        return "tool_calls"
    return "length" if response.finish_reason == "length" else "stop"


def penalise_key(keys: ApiKeyPool, key: str, model: ModelInfo, failure: Exception, cooldown_seconds: float) -> None:
    """Apply a failure to its key: a rate limit (429) or an overload (529) starts a cool-down for this model; 401 and
    403 disable the key. The provider is believed for an hour at most. Source: reference/sophon.md 5.12.
    """
    if isinstance(failure, AuthenticationFailed):
        keys.disable_key(key)
    elif isinstance(failure, RateLimited | Overloaded):
        retry_after = failure.retry_after
        seconds = cooldown_seconds if retry_after is None else min(retry_after, MAX_COOLDOWN_SECONDS)
        keys.cool_down(key, seconds, model.name, is_provider_requested=retry_after is not None)


def _own_cancellation_error(candidate: Candidate, visible: bool) -> ModelError:
    info = candidate.info
    error = ProviderUnavailable(
        f"{info.id}: the call was cancelled by the model itself", provider=info.provider, model=info.name
    )
    error.visible = visible
    return error
