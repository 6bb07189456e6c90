"""Meter of embedding calls that belong to no turn: what people search, and feedback that keeps a route."""

from datetime import datetime

from sophon.clock import Clock
from sophon.messages import Usage
from sophon.models.call_cost import worst_cost_micros
from sophon.models.model import ModelRequest
from sophon.settings import BudgetSettings
from sophon.stores.usage.contract import PayerSpending, Reservation, UsageRow, UsageStore
from sophon_middlewares.outer.budget.budget_periods import budget_period
from sophon_middlewares.outer.budget.provider_budget import exceeded_budget, find_price_error, limits_for_provider


class EmbeddingMeter:
    """Reserves and settles each call in the store against the limits of its provider; see `Meter`.

    `session_id` and `run_id` are those of the answer that it is about, "" for none. Raises BudgetExceeded, and
    PriceUnknown for a model whose cost a limit could not see.
    """

    def __init__(
        self, usage: UsageStore, budget: BudgetSettings, clock: Clock, *, session_id: str = "", run_id: str = ""
    ) -> None:
        self._usage, self._budget, self._clock = usage, budget, clock
        self._session_id, self._run_id = session_id, run_id

    async def reserve(self, request: ModelRequest, input_tokens: int) -> Reservation:
        """See `Meter.reserve`."""
        model, settings = request.model, self._budget
        refused = find_price_error(model, settings)
        if refused is not None:
            raise refused
        now, limits = self._now(), limits_for_provider(model.provider, settings)
        worst = Usage(input_tokens, request.max_tokens, worst_cost_micros(model, input_tokens, request.max_tokens))
        period = budget_period(now, settings.time_zone)
        found = await self._usage.reserve(model.provider, period, worst, limits)
        if isinstance(found, Reservation):
            return found
        assert not isinstance(found, PayerSpending), "nobody's limits were named"
        error = exceeded_budget(model.provider, found, limits, now, settings.time_zone, worst_case=worst)
        assert error is not None, "a limit has refused it"
        raise error

    async def settle(self, reservation: Reservation, request: ModelRequest, usage: Usage) -> None:
        """See `Meter.settle`."""
        model = request.model
        row = UsageRow(
            *(model.provider, model.name, request.purpose, self._session_id, self._run_id),
            usage,
            reservation.period,
            self._now(),
        )
        await self._usage.settle(reservation, row)

    async def release(self, reservation: Reservation) -> None:
        """See `Meter.release`."""
        await self._usage.release(reservation)

    def find_time_limit(self) -> tuple[str, float] | None:
        """See `Meter`."""
        return None

    def reserve_tool_call(self) -> None:
        """See `Meter.reserve_tool_call`. There are none outside of a turn."""

    def _now(self) -> datetime:
        return self._clock.now()
