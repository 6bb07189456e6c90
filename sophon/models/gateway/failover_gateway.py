"""Model gateway: the single entry point for model calls, with failover, call layers, metering and tracing."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from sophon.cancellation import Cancellation
from sophon.clock import Clock
from sophon.errors import BudgetExceeded, ChainError, MessageTooLarge, ModelError, ModelTimeout, NotFound, SophonError
from sophon.events import AgentStatus, Emit
from sophon.messages import Message, Usage
from sophon.models.gateway.attempt_runner import AttemptRecord, GatewayCall, Pauses, normalise_finish_reason
from sophon.models.gateway.fallback_states import FallbackRun, select_final_error
from sophon.models.gateway.options import GatewayDependencies, GatewayOptions
from sophon.models.gateway.provider import Candidate, Provider, ProviderStatistics
from sophon.models.gateway.retry_loop import RetryLoop
from sophon.models.gateway.stream_taps import OutputLatch
from sophon.models.model import (
    CURRENT_METER,
    LAYERED_PURPOSES,
    Call,
    CallLayer,
    Meter,
    Model,
    ModelInfo,
    ModelRequest,
    ModelResponse,
)
from sophon.models.token_counter import TokenCounter, prepare_messages

log = logging.getLogger("sophon")

CLOSE_TIMEOUT_SECONDS = 5.0
"""Time that the models have to close, all together."""

REASONING_TOKENS: Final = 4000
"""Tokens that a model may use to reason about a short answer: gpt-5 needs 1,400 for one of 120."""

_WINDOW_SHARE: Final = 16
"""A sixteenth of the window is the most that is added."""


class ModelGateway:
    """Calls the candidates in order until one answers.

    From the outside in: the candidates (fallback_states.py); around each candidate the call layers;
    inside them the retry loop with key rotation (retry_loop.py, retry_states.py); and each attempt with its meter and
    record (attempt_runner.py).
    """

    __slots__ = ("__weakref__", "_by_name", "_context", "_defaults", "_retired", "providers", "tokens")

    def __init__(
        self,
        providers: Sequence[Provider],
        *,
        clock: Clock,
        options: GatewayOptions | None = None,
    ) -> None:
        self._retired: list[Provider] = []
        self._set_providers(providers)
        self.tokens = TokenCounter()
        self._context = GatewayDependencies(clock, self.tokens, options or GatewayOptions())

    def replace_providers(self, providers: Sequence[Provider]) -> None:
        """Call these providers from now on. Calls that run, and turns that chose their candidates, keep the others,
        which are closed with the gateway.
        """
        self._retired += self.providers
        self._set_providers(providers)

    def _set_providers(self, providers: Sequence[Provider]) -> None:
        self.providers: tuple[Provider, ...] = tuple(sorted(providers, key=lambda provider: provider.priority))
        self._defaults = [Candidate(provider, provider.models[0]) for provider in self.providers]
        self._by_name = _index_by_name(self.providers)

    def candidates(self) -> list[Candidate]:
        """Return the first model of every provider that is available now, by priority, then in the order given."""
        now = self._context.clock.monotonic()
        return [candidate for candidate in self._defaults if candidate.provider.health(now) == "active"]

    def find(self, name: str) -> Candidate:
        """Return a model by `provider/model`, by its own name, or a provider's first model by the provider's id.

        Providers with an open circuit breaker are included, because the model was requested by name. Raises NotFound
        with similar names.
        """
        for candidate in self._by_name.get(name, ()):
            if candidate.provider.active:
                return candidate
        active = [known for known, group in self._by_name.items() if any(c.provider.active for c in group)]
        raise NotFound("model", name, get_close_matches(name, active, n=3, cutoff=0.5))

    async def call(
        self,
        request: ModelRequest,
        candidates: Sequence[Candidate],
        *,
        layers: Sequence[CallLayer] = (),
        hooks: Sequence[CallLayer] = (),
        meter: Meter | None = None,
        emit: Emit | None = None,
        check: Callable[[], None] | None = None,
        cancellation: Cancellation | None = None,
        rate_limit_waits: int | None = None,
        pauses: Pauses = nullcontext,
    ) -> ModelResponse:
        """Return the response of the first candidate that answers; the gateway may modify `request`.

        `layers` act on calls of the purposes `reply` and `step`, `hooks` inside of them on every call.

        `meter` defaults to that of the turn in which the call is made (`sophon.models.model`).

        `check` is called before every attempt and every chunk and may raise to stop the call. No attempt starts once
        `cancellation` (the turn's) is requested; without a request, a model's CancelledError is a failed attempt.
        `rate_limit_waits` is `Failover.RateLimitWaits` of the turn; `pauses` is entered around waits before a retry.

        Raises ModelError (`attempts` holds the records, `visible` whether text was already shown), BudgetExceeded if
        every candidate was over its budget, MessageTooLarge if no candidate's window was large enough, NoProvider if
        there is no candidate. AssertionError, cancellation and exceptions of layers and listeners propagate unchanged.
        """
        latch: OutputLatch | None = None
        if request.on_text is not None:
            latch = OutputLatch(request.on_text)
            request = request.copy_with(on_text=latch)
        wrappers = (*layers, *hooks) if request.purpose in LAYERED_PURPOSES else hooks
        cancellation, meter = cancellation or Cancellation(), CURRENT_METER.get() if meter is None else meter
        shared = GatewayCall(meter, emit, check, latch, cancellation, rate_limit_waits, pauses)
        loop: RetryLoop | None = None
        available = candidates if len(candidates) == 1 else self._skip_open_circuits(candidates)
        errors: list[SophonError] = []
        begin_fallback = partial(FallbackRun, len(available), self._context.options.max_retries)
        fallback: FallbackRun | None = None
        """None while the first attempt has not failed, which it seldom does."""
        limit = request.max_tokens
        for position, candidate in enumerate(available):
            records = () if loop is None else loop.records
            following = available[position + 1 :]
            loop = RetryLoop(candidate, following, self._context, shared, records)
            info = candidate.info
            call = _wrap_in_layers(loop, wrappers, info)
            request = _address_request(request, info, limit, is_first=not position)
            try:
                response = await call(request)
            except asyncio.CancelledError:
                own = loop.records[len(records) :]
                is_waiting = bool(own) and own[-1].outcome not in ("cancelled", "ok")
                fallback = fallback or begin_fallback()
                fallback.abort(emit, request.purpose, len(loop.records), is_waiting=is_waiting)
                raise
            except (ModelError, BudgetExceeded, MessageTooLarge) as error:
                errors.append(error)
                fallback = fallback or begin_fallback()
                if fallback.fail(error, len(loop.records), has_output=loop.has_output):
                    break
                if emit is not None and following:
                    _emit_failover(emit, candidate, error, following[0])
            else:
                if fallback is not None or len(loop.records) > 1:
                    (fallback or begin_fallback()).succeed(emit, request.purpose, len(loop.records))
                return _complete_response(response, wrappers, candidate, latch, len(loop.records))
        has_output = latch is not None and latch.has_output
        (fallback or begin_fallback()).give_up(emit, request.purpose)
        raise _attach_records(select_final_error(errors, has_output), () if loop is None else loop.records)

    async def warm_up(self) -> None:
        """Load the models' clients and the tokenizer, which the first call would otherwise wait for.

        The tokenizer is loaded only if at least one model has a `warm_up`.
        """
        loaders = [load for model in self._models() if (load := getattr(model, "warm_up", None)) is not None]
        if loaders:
            await self.tokens.warm_up()
        for load in loaders:
            await load()

    async def prepare_messages(self, messages: Sequence[Message]) -> int:
        """Count and serialise messages in a worker thread, for the calls that follow; return their tokens together."""
        found = (getattr(model, "prepare_message", None) for model in self._models())
        prepare = [function for function in found if function is not None]
        return await prepare_messages(messages, self.tokens, prepare, self._context.clock)

    async def aclose(self) -> None:
        """Close every model that has an `aclose`, concurrently; then raise the first failure, in priority order.

        A model that does not close within 5 seconds is left behind and counts as failed, with a ModelTimeout.
        """
        models = [model for model in self._models((*self.providers, *self._retired)) if hasattr(model, "aclose")]
        failures = await close_all(models, self._context.clock)
        if failures:
            raise failures[0]

    def _models(self, providers: Sequence[Provider] | None = None) -> list[Model]:
        # De-duplicated by identity, because a model need not be hashable.
        chosen = self.providers if providers is None else providers
        return list({id(model): model for provider in chosen for model in provider.models}.values())

    def statistics(self) -> list[ProviderStatistics]:
        """Return the statistics of every provider, in priority order."""
        now = self._context.clock.monotonic()
        return [provider.statistics(now) for provider in self.providers]

    def reset_provider(self, provider_id: str) -> ProviderStatistics:
        """End what keeps a provider from being called: cool-downs, disabled keys, the open circuit. Raises NotFound.

        Return its statistics before the reset. All of it is in the memory of this process.
        """
        provider = self.find_provider(provider_id)
        before = provider.statistics(self._context.clock.monotonic())
        provider.reset()
        return before

    def find_provider(self, provider_id: str) -> Provider:
        """Return a provider by its id. Raises NotFound with similar ids."""
        for provider in self.providers:
            if provider.id == provider_id:
                return provider
        known = [provider.id for provider in self.providers]
        raise NotFound("provider", provider_id, get_close_matches(provider_id, known, n=3, cutoff=0.5))

    def _skip_open_circuits(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Skip candidates with an open breaker, which may have opened during the turn; if none is left, return all."""
        now = self._context.clock.monotonic()
        return [candidate for candidate in candidates if candidate.provider.breaker.allows_call(now)] or candidates


def _index_by_name(providers: Sequence[Provider]) -> dict[str, list[Candidate]]:
    index: dict[str, list[Candidate]] = {}
    every = [Candidate(provider, model) for provider in providers for model in provider.models]
    for candidate in every:
        index.setdefault(f"{candidate.provider.id}/{candidate.info.name}", []).append(candidate)
    for candidate in every:
        index.setdefault(candidate.info.name, []).append(candidate)
    for candidate in every:
        index.setdefault(candidate.provider.id, []).append(candidate)
    return index


def _address_request(request: ModelRequest, model: ModelInfo, max_tokens: int, *, is_first: bool) -> ModelRequest:
    """Return the request for a model: the caller's own to the first one, unless its limit differs there.

    Providers count reasoning as output. A title of 32 tokens, an evaluation of 500 or a summary would be empty, because
    the model has not begun its answer when the limit is reached. Replies and steps keep theirs.
    """
    limit = max_tokens
    if request.purpose not in LAYERED_PURPOSES and "reasoning" in model.capabilities:
        limit += min(REASONING_TOKENS, model.context_window // _WINDOW_SHARE)
    if is_first and limit == max_tokens:
        request.model = model
        return request
    return request.copy_with(model=model, key=None, max_tokens=limit)


def _wrap_in_layers(call: Call, layers: Sequence[CallLayer], model: ModelInfo) -> Call:
    """Return the call inside the layers that act on calls of the model, the first one outermost."""
    for layer in reversed(layers):
        if not (model.function_calling and getattr(layer, "without_function_calling_only", False)):

            def wrap(request: ModelRequest, layer: CallLayer = layer, inner: Call = call) -> Awaitable[ModelResponse]:
                return layer(request, inner)

            call = wrap
    return call


def _describe_wrong_response(result: object, layers: Sequence[CallLayer]) -> ChainError:
    theirs = [layer for layer in layers if not getattr(layer, "__module__", "").startswith("sophon")] or layers
    names = [getattr(layer, "__qualname__", type(layer).__name__) for layer in theirs]
    if inspect.iscoroutine(result):
        result.close()  # else Python warns that nobody awaited it
    return ChainError(
        f"{' or '.join(names)} returned {type(result).__name__} and not the response: a call layer or a model hook is "
        f"`async def layer(request, call)` and ends with `return await call(request)` or a ModelResponse"
    )


def _complete_response(
    response: ModelResponse,
    layers: Sequence[CallLayer],
    candidate: Candidate,
    output_latch: OutputLatch | None,
    attempts: int,
) -> ModelResponse:
    """Fill in what a call layer may have omitted: model, usage, finish reason, and text not yet sent to the caller.

    Raises ChainError if one of the layers has returned something else than a response.
    """
    if not isinstance(response, ModelResponse):  # pyright: ignore[reportUnnecessaryIsInstance] - of layers without types
        raise _describe_wrong_response(response, layers)
    if response.model is None:
        response.model = candidate.info
    if response.usage is None:
        response.usage = Usage()
    response.attempts = attempts
    response.finish_reason = normalise_finish_reason(response)
    if output_latch is not None and not output_latch.has_output:
        output_latch.restart()
        output_latch(response.text)
    return response


def _attach_records(error: SophonError, records: Sequence[AttemptRecord]) -> SophonError:
    if isinstance(error, ModelError):
        error.attempts = list(records)
    return error


def _emit_failover(emit: Emit, candidate: Candidate, error: SophonError, next_candidate: Candidate) -> None:
    detail = f"{candidate.info.id} failed ({error.code}); trying {next_candidate.info.id}"
    emit(AgentStatus(status="retrying", detail=detail))


async def close_all(models: Sequence[Model], clock: Clock) -> list[Exception]:
    """Close the models concurrently and return their failures in the given order.

    What has not closed in time is cancelled and not waited for, because a hanging model may ignore that too.
    """
    if not models:
        return []
    tasks = [asyncio.create_task(_close(model)) for model in models]
    try:
        async with clock.timeout(CLOSE_TIMEOUT_SECONDS):
            await asyncio.wait(tasks)
    except TimeoutError:
        pass
    finally:
        for task in tasks:
            task.cancel()
    return [failure for model, task in zip(models, tasks, strict=True) if (failure := _failure(model, task))]


async def _close(model: Any) -> Exception | None:
    try:
        await model.aclose()
    except Exception as error:  # noqa: BLE001 - returned, so that every failure is retrieved
        return error
    return None


def _failure(model: Model, task: asyncio.Task[Exception | None]) -> Exception | None:
    if task.done() and not task.cancelled():
        return task.result()
    info = model.info
    log.warning("the model %s did not close within %g seconds", info.id, CLOSE_TIMEOUT_SECONDS)
    return ModelTimeout(f"{info.id} did not close within {CLOSE_TIMEOUT_SECONDS:g} seconds", model=info.name)
