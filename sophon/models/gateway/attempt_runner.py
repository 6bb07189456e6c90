"""One attempt: reserve budget, call the model once, settle or release the reservation, and record the outcome."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, NamedTuple, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.cancellation import Cancellation
from sophon.errors import AuthenticationFailed, ModelError, Overloaded, ProviderUnavailable, RateLimited
from sophon.events import AgentStatus, Emit, ModelAttempt
from sophon.messages import Usage
from sophon.models.gateway.api_keys import MAX_COOLDOWN_SECONDS, ApiKeyPool
from sophon.models.gateway.attempt_accounting import Attempt
from sophon.models.gateway.error_classification import classify_error
from sophon.models.gateway.options import KEY_COOLDOWN_SECONDS, AttemptLimits, GatewayDependencies, make_attempt_limits
from sophon.models.gateway.provider import NEVER, Candidate
from sophon.models.gateway.response_check import check_reply_size, check_response
from sophon.models.gateway.stream_taps import OutputLatch, StreamTap
from sophon.models.model import AttemptOutput, Meter, ModelInfo, ModelRequest, ModelResponse
from sophon.models.reply_size import ReplySize
from sophon.traces.trace_context import PROPAGATED, new_span_id


class AttemptRecord(NamedTuple):
    """Record of one attempt; `outcome` is `ok`, `cancelled` or the code of the error."""

    model: str
    outcome: str
    duration_ms: int
    detail: str = ""


Pauses: TypeAlias = Callable[[], AbstractContextManager[object]]
"""Returns a context manager for a wait before a retry."""


@dataclass(frozen=True, slots=True)
class GatewayCall:
    """One call of the gateway, on whichever candidate: who meters, hears and may stop it; see `ModelGateway.call`.

    `rate_limit_waits` says how often a rate limit is waited out while another candidate can be called; None: short
    waits only.
    """

    meter: Meter | None
    emit: Emit | None
    check: Callable[[], None] | None
    output_latch: OutputLatch | None
    cancellation: Cancellation
    rate_limit_waits: int | None
    pauses: Pauses


class AttemptRunner:
    """Runs the attempts of one call on a candidate and keeps their records; the retry loop is built on it.

    Nothing stays reserved, whatever the outcome: success settles with the reported usage (estimated if there is none);
    failure releases, or charges what has cost something (see `has_cost`); cancellation charges the input and all that
    was produced. A model that raises CancelledError although nobody cancelled has failed; one that returns after
    its timeout has timed out.
    """

    __slots__ = ("_call", "_candidate", "_context", "_following", "records")

    def __init__(
        self,
        candidate: Candidate,
        following: Sequence[Candidate],
        gateway_dependencies: GatewayDependencies,
        call: GatewayCall,
        records: Sequence[AttemptRecord] = (),
    ) -> None:
        self._candidate, self._following = candidate, following
        self._context = gateway_dependencies
        self._call = call
        self.records = records
        """What became of the attempts, also of those on earlier candidates; a first one that succeeds leaves none."""

    @property
    def has_output(self) -> bool:
        """Whether text has reached the caller, after which nothing is repeated."""
        return self._call.output_latch is not None and self._call.output_latch.has_output

    async def run_attempt(self, request: ModelRequest, key: str | None) -> ModelResponse:
        """Call the model once. Raises the provider's error as a ModelError, and BudgetExceeded from the meter."""
        candidate = self._candidate
        await self._call.cancellation.checkpoint(self._context.clock)
        if self._call.check is not None:
            self._call.check()
        attempt = self._open_attempt(request, key)
        if self._call.meter is not None:
            attempt.reservation = await self._call.meter.reserve(attempt.request, attempt.count_input())
        candidate.provider.attempts += 1
        propagated = PROPAGATED.get()
        if propagated is not None:
            # Until the next attempt or tool call of this task sets its own.
            attempt.span_id = new_span_id()
            PROPAGATED.set(propagated.child(attempt.span_id))
        output = attempt.output
        try:
            async with attempt:
                answer: Any = await candidate.model.complete(attempt.request)
            if isinstance(answer, ModelResponse):
                # Noted before the checks: an answer was paid for, also if it turns out to be of no use.
                output.has_begun, output.usage = True, answer.usage
            response = check_response(answer)
            check_reply_size(response, output.size.max_bytes)
        except asyncio.CancelledError as error:
            stopped_by_listener = attempt.tap is not None and attempt.tap.listener_error is error
            if self._call.cancellation.is_requested or stopped_by_listener:
                self._record(attempt, "cancelled", await attempt.charge())
                raise
            own = _own_cancellation_error(candidate, self.has_output)
            await self._settle_failure(attempt, own)
            raise own from error
        except Exception as error:
            failure = self._classify(error, attempt.tap)
            await self._settle_failure(attempt, failure)
            if failure is error:
                raise
            raise failure from error
        return self._complete_success(attempt, response, await attempt.settle(response))

    def _open_attempt(self, request: ModelRequest, key: str | None) -> Attempt:
        most = self._context.options.max_reply_bytes
        if request.max_reply_bytes is not None and request.max_reply_bytes < most:
            most = request.max_reply_bytes
        tap, output = None, AttemptOutput(size=ReplySize(most))
        if self._call.output_latch is not None:
            self._call.output_latch.restart()
        if request.on_text is not None:
            streamed, check, now = ReplySize(most), self._call.check, self._context.clock.monotonic
            tap = StreamTap(request.on_text, check, streamed, now)
            reasoning_tap = None
            if request.on_reasoning is not None:
                reasoning_tap = StreamTap(request.on_reasoning, check, streamed, now)
                tap.reasoning = reasoning_tap
            request = request.copy_with(on_text=tap, on_reasoning=reasoning_tap, key=key, output=output)
        elif request.output is None:
            request.key, request.output = key, output
        else:
            # A copy, so that a request kept from an earlier attempt still shows the key and the notes of that attempt.
            request = request.copy_with(key=key, output=output)
        alternative = self._seconds_to_alternative() if self._following else NEVER
        limits, on_silence = self._find_limits(alternative), self._report_silence if self._call.emit else None
        return Attempt(request, output, tap, self._call.meter, self._context, limits, on_silence)

    def _find_limits(self, seconds_to_alternative: float = NEVER) -> AttemptLimits:
        """Return the limits of an attempt: the provider's own timeouts, else those of the options.

        The limit on silence before the reply holds only if another candidate can be called by then.
        """
        options, provider = self._context.options, self._candidate.provider
        attempt, idle = provider.attempt_timeout_seconds, provider.idle_timeout_seconds
        first = provider.first_output_timeout_seconds or options.first_output_timeout_seconds
        return make_attempt_limits(
            options.attempt_timeout_seconds if attempt is None else attempt,
            options.idle_timeout_seconds if idle is None else idle,
            first if first is not None and seconds_to_alternative <= first else None,
        )

    def _seconds_to_alternative(self) -> float:
        """Return the seconds until a candidate that follows can be called; NEVER if none can."""
        now = self._context.clock.monotonic()
        return min((each.seconds_until_usable(now) for each in self._following), default=NEVER)

    def _report_silence(self, silent_seconds: float, limit: float | None) -> None:
        if self._call.emit is not None:
            most = "" if limit is None else f"; it is waited for up to {limit:g} s"
            detail = f"{self._candidate.info.id} has written nothing for {silent_seconds:g} s{most}"
            self._call.emit(AgentStatus(status="thinking", detail=detail))

    def _complete_success(self, attempt: Attempt, response: ModelResponse, usage: Usage) -> ModelResponse:
        """Return the response as a new object, because the model may return the same one again; record the success."""
        request, tap, keys = attempt.request, attempt.tap, self._candidate.provider.keys
        if keys is not None and request.key is not None:
            keys.end_cooldown(request.key, request.model.name)
        if self._call.emit is not None or self.records:
            self._record(attempt, "ok", usage)
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

    def _classify(self, error: Exception, tap: StreamTap | None) -> Exception:
        """Classify the error; AssertionError and the listener's own exceptions are returned unchanged."""
        failure = error
        if not isinstance(error, AssertionError) and (tap is None or not tap.has_raised(error)):
            provider, name = self._candidate.provider.id, self._candidate.info.name
            failure = classify_error(error, provider, name, now=self._context.clock.now())
        if isinstance(failure, ModelError):
            failure.visible = self.has_output
        return failure

    async def _settle_failure(self, attempt: Attempt, failure: Exception) -> None:
        provider, key = self._candidate.provider, attempt.request.key
        code = str(getattr(failure, "code", type(failure).__name__))
        provider.failures += 1
        provider.last_error = code
        if key is not None and provider.keys is not None:
            penalise_key(provider.keys, key, self._candidate.info, failure, KEY_COOLDOWN_SECONDS)
        self._record(attempt, code, await attempt.end_failed(failure), str(failure))

    def _record(self, attempt: Attempt, outcome: str, usage: Usage, detail: str = "") -> None:
        duration = round((self._context.clock.monotonic() - attempt.started_at) * 1000)
        model, purpose = attempt.request.model.id, attempt.request.purpose
        key, keys = attempt.request.key, self._candidate.provider.keys
        self.records = [*self.records, AttemptRecord(model, outcome, duration, detail)]
        if self._call.emit is not None:
            self._call.emit(
                ModelAttempt(
                    purpose=purpose,
                    model=model,
                    outcome=outcome,
                    duration_ms=duration,
                    usage=usage,
                    detail=detail,
                    key=None if key is None or keys is None else keys.find_number(key),
                    first_token_ms=None
                    if attempt.tap is None
                    else find_first_token_ms(attempt.tap, attempt.started_at),
                    span_id=attempt.span_id,
                )
            )


def find_first_token_ms(tap: StreamTap, started_at: float) -> int | None:
    """Return the milliseconds to the first text, reasoning included; None if nothing was streamed."""
    found = [each.first_at for each in (tap, tap.reasoning) if each is not None and each.first_at is not None]
    return round((min(found) - started_at) * 1000) if found else None


def normalise_finish_reason(response: ModelResponse) -> Literal["stop", "tool_calls", "length"]:
    """Return `tool_calls` if and only if there are tool calls, else `length` if the model reported it, else `stop`.

    A model of one's own may report anything, also what ends a turn in another way, such as `suspended`.
    """
    if response.tool_calls:
        return "tool_calls"
    return "length" if response.finish_reason == "length" else "stop"


def penalise_key(keys: ApiKeyPool, key: str, model: ModelInfo, failure: Exception, cooldown_seconds: float) -> None:
    """Apply a failure to its key: a rate limit (429) or an overload (529) starts a cool-down for this model; 401 and
    403 disable the key. The provider is believed for an hour at most. Source: Sophon's guide, LLM invoker.
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
