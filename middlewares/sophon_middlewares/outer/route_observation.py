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
from sophon.routing.turn_keys import SCORE
from sophon.stores.route_averages.contract import RouteObservation
from sophon.turn_permissions import find_routing_permissions

log = logging.getLogger("sophon")

_PROVIDER_ERRORS = (*TRANSIENT_ERRORS, RateLimited, AuthenticationFailed)
"""Errors that say something about the model's provider; others are about the request."""


@asynccontextmanager
async def observe_calls(ctx: Context, routed: Routed) -> AsyncGenerator[None]:
    """Observe the model calls made within the block; afterwards store what was observed, and score the reply.

    Replies are limited to the tokens of the person's permissions. A turn that fails or suspends is not scored. What
    cannot be stored is logged; it never fails the turn.
    """
    observer = _CallObserver(ctx, routed)
    try:
        with ctx.call_layer(observer.observe):
            yield
    except Exception:
        await _conclude(ctx, routed, observer)
        raise
    quality = score_reply(ctx)
    if quality is not None and observer.last_model:
        observer.add(observer.last_model, quality=quality)
    await _conclude(ctx, routed, observer)


class _CallObserver:
    """Call layer that measures each candidate's call."""

    def __init__(self, ctx: Context, routed: Routed) -> None:
        self._ctx, self._record, self._tiers = ctx, routed.record, routed.decision.model_tiers
        self.observations: list[RouteObservation] = []
        self.last_model = ""
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
        weight = self._router.settings.quality.smoothing
        now = self._ctx.services.clock.now()
        tier = self._tiers.get(model, self._record.tier)
        self.observations.append(
            RouteObservation(
                model, tier, self._record.task_type, now, cost_micros, latency_ms, quality, has_failed, weight
            )
        )


def score_reply(ctx: Context) -> float | None:
    """Return the quality of the turn's reply: what a scoring middleware found, else the published fitness.

    None for a turn without a reply of a model, and for a reply that asks for tools.
    """
    response = ctx.response
    if response is None or response.tool_calls or response.finish_reason not in ("stop", "length"):
        return None
    scored = ctx.get(SCORE)
    if scored is not None:
        return scored.overall
    usage = ctx.tally.usage
    return fitness(
        ctx.text,
        response.text,
        finish_reason=response.finish_reason,
        output_tokens=usage.output_tokens,
        tools_offered=len(ctx.tools),
        tools_used=ctx.tally.tool_calls,
    ).overall


async def _conclude(ctx: Context, routed: Routed, observer: _CallObserver) -> None:
    if not observer.observations:
        return
    router = ctx.services.router
    router.observe(observer.observations)
    try:
        await ctx.services.store.route_averages.add(observer.observations)
    except SophonError as error:
        log_failure(log, error, "the observations of run %s could not be stored", ctx.run_id)
