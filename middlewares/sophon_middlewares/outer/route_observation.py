"""Observation of routed model calls: cost, latency, failures and the quality of the reply, for the averages."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sophon.context import Context
from sophon.errors import AuthenticationFailed, ModelError, RateLimited, SophonError
from sophon.failure_log import log_failure
from sophon.learning.fitness import fitness
from sophon.models.gateway.retry_machine import TRANSIENT_ERRORS
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.routing.router import Routed
from sophon.routing.turn_keys import OBSERVE_QUALITY, SCORER
from sophon.stores.route_averages.contract import RouteObservation
from sophon.turn_permissions import find_routing_permissions

log = logging.getLogger("sophon")

_PROVIDER_ERRORS = (*TRANSIENT_ERRORS, RateLimited, AuthenticationFailed)
"""Errors that say something about the model's provider; others are about the request."""


@asynccontextmanager
async def observe_calls(ctx: Context, routed: Routed) -> AsyncGenerator[None]:
    """Observe the model calls made within the block, and afterwards store what was observed.

    The quality of the answer is that of the chain's scoring middleware, which tells it by `OBSERVE_QUALITY`; without
    one it is the published fitness. Replies are limited to the tokens of the person's permissions. A turn that fails
    or suspends is not scored. What
    cannot be stored is logged; it never fails the turn.
    """
    observer = _CallObserver(ctx, routed)
    if ctx.get(SCORER) is not None:
        ctx.put(OBSERVE_QUALITY, observer.observe_quality)
    try:
        with ctx.call_layer(observer.observe):
            yield
    except Exception:
        await _conclude(ctx, observer)
        raise
    quality = score_reply(ctx) if ctx.get(SCORER) is None else None
    if quality is not None and observer.last_model:
        observer.add(observer.last_model, quality=quality)
    await _conclude(ctx, observer)


class _CallObserver:
    """Call layer that measures each candidate's call."""

    def __init__(self, ctx: Context, routed: Routed) -> None:
        self._ctx, self._record, self._tiers = ctx, routed.record, routed.decision.model_tiers
        self.observations: list[RouteObservation] = []
        self.last_model = ""
        self.is_concluded = False
        router = ctx.services.router
        self._router = router
        permissions = find_routing_permissions(ctx, uses_tiers=router.uses_tiers)
        self._max_tokens = permissions.max_output_tokens

    async def observe(self, request: ModelRequest, call: Call) -> ModelResponse:
        if self._max_tokens is not None and request.max_tokens > self._max_tokens:
            request = request.copy_with(max_tokens=self._max_tokens)
        model, clock = request.model.id, self._ctx.services.clock
        started_at = clock.monotonic()
        try:
            response = await call(request)
        except ModelError as error:
            seconds = clock.monotonic() - started_at
            if isinstance(error, _PROVIDER_ERRORS):
                self._router.record_call(model, seconds, has_failed=True)
                self.add(model, latency_ms=seconds * 1000, has_failed=True)
            raise
        seconds, usage = clock.monotonic() - started_at, response.usage
        self._router.record_call(model, seconds, has_failed=False)
        is_priced = usage is not None and not usage.unpriced_tokens and not request.model.is_cost_unknown
        cost = float(usage.cost_micros) if usage is not None and is_priced else None
        self.add(model, cost_micros=cost, latency_ms=seconds * 1000)
        self.last_model = model
        return response

    async def observe_quality(self, quality: float) -> None:
        """Note the quality of the answer, and store it if the observations of the calls are stored already."""
        if self.last_model:
            self.add(self.last_model, quality=quality)
            if self.is_concluded:
                await _conclude(self._ctx, self)

    def add(
        self,
        model: str,
        *,
        cost_micros: float | None = None,
        latency_ms: float | None = None,
        quality: float | None = None,
        has_failed: bool = False,
    ) -> None:
        """Note an observation of a model."""
        quality_settings = self._router.settings.quality
        now = self._ctx.services.clock.now()
        tier = self._tiers.get(model, self._record.tier)
        self.observations.append(
            RouteObservation(
                *(model, tier, self._record.task_type, now, cost_micros, latency_ms, quality, has_failed),
                smoothing=quality_settings.smoothing,
                expiry=quality_settings.expiry,
            )
        )


def score_reply(ctx: Context) -> float | None:
    """Return the published fitness of the turn's reply.

    None for a turn without a reply of a model, and for a reply that asks for tools.
    """
    response = ctx.response
    if response is None or response.tool_calls or response.finish_reason not in ("stop", "length"):
        return None
    usage = ctx.tally.usage
    return fitness(
        ctx.text,
        response.text,
        finish_reason=response.finish_reason,
        output_tokens=usage.output_tokens,
        tools_offered=len(ctx.tools),
        tools_used=ctx.tally.tool_calls,
    ).overall


async def _conclude(ctx: Context, observer: _CallObserver) -> None:
    observer.is_concluded = True
    observations, observer.observations = observer.observations, []
    if not observations:
        return
    ctx.services.router.observe(observations)
    try:
        await ctx.services.store.route_averages.add(observations)
    except SophonError as error:
        log_failure(log, error, "the observations of run %s could not be stored", ctx.run_id)
