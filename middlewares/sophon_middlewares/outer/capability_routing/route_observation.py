"""Observation of routed model calls: cost, latency and failures, for the averages."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from sophon.context import Context
from sophon.errors import AuthenticationFailed, RateLimited, SophonError
from sophon.failure_log import log_failure
from sophon.models.gateway.retry_states import TRANSIENT_ERRORS
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.routing.context_keys import ANSWER_TIER
from sophon.routing.router import Routed
from sophon.stores.route_averages.route_average import RouteObservation
from sophon.turn.permissions import find_routing_permissions

log = logging.getLogger("sophon")

_PROVIDER_ERRORS = (*TRANSIENT_ERRORS, RateLimited, AuthenticationFailed)
"""Errors that say something about the model's provider; others are about the request."""


@asynccontextmanager
async def observe_calls(ctx: Context, routed: Routed) -> AsyncGenerator[None]:
    """Observe the model calls made within the block, and afterwards store what was observed.

    Replies are limited to the tokens of the person's permissions. What cannot be stored is logged; it never fails the
    turn. How good the answer is, is not observed here: see `Learning`.
    """
    observer = _CallObserver(ctx, routed)
    try:
        with ctx.call_layer(observer.observe):
            yield
    except Exception:
        await _conclude(ctx, observer)
        raise
    await _conclude(ctx, observer)


class _CallObserver:
    """Call layer that measures each candidate's call."""

    def __init__(self, ctx: Context, routed: Routed) -> None:
        self._ctx, self._record, self._tiers = ctx, routed.record, routed.decision.model_tiers
        self.observations: list[RouteObservation] = []
        router = ctx.services.learning.router
        self._router = router
        permissions = find_routing_permissions(ctx, uses_tiers=router.uses_tiers)
        self._max_tokens = permissions.max_output_tokens

    async def observe(self, request: ModelRequest, call: Call) -> ModelResponse:
        if self._max_tokens is not None and request.max_tokens > self._max_tokens:
            request = request.copy_with(max_tokens=self._max_tokens)
        model, clock = request.model.id, self._ctx.services.clock
        started_at = clock.monotonic()
        self._router.start_call(model)
        try:
            response = await call(request)
        except _PROVIDER_ERRORS:
            seconds = clock.monotonic() - started_at
            self._router.record_call(model, seconds, has_failed=True)
            self.add(model, latency_ms=seconds * 1000, has_failed=True)
            raise
        except BaseException:
            self._router.abandon_call(model)
            raise
        seconds, usage = clock.monotonic() - started_at, response.usage
        self._router.record_call(model, seconds, has_failed=False)
        is_priced = usage is not None and not usage.unpriced_tokens and not request.model.is_cost_unknown
        cost = float(usage.cost_micros) if usage is not None and is_priced else None
        self.add(model, cost_micros=cost, latency_ms=seconds * 1000)
        if request.purpose == "reply":
            self._ctx.put(ANSWER_TIER, self._tiers.get(model, self._record.tier))
        return response

    def add(
        self,
        model: str,
        *,
        cost_micros: float | None = None,
        latency_ms: float | None = None,
        has_failed: bool = False,
    ) -> None:
        """Note an observation of a model."""
        now = self._ctx.services.clock.now()
        tier = self._tiers.get(model, self._record.tier)
        self.observations.append(
            RouteObservation(model, tier, self._record.task_type, now, cost_micros, latency_ms, None, has_failed)
        )


async def _conclude(ctx: Context, observer: _CallObserver) -> None:
    observations, observer.observations = observer.observations, []
    if not observations:
        return
    ctx.services.learning.router.observe(observations)
    try:
        await ctx.services.store.route_averages.add(observations)
    except SophonError as error:
        log_failure(log, error, "the observations of run %s could not be stored", ctx.run_id)
