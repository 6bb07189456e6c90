"""Budget accounting of one attempt: reservation, settlement or release, and the usage with its cost."""

from typing import Any

import anyio

from sophon.messages import Usage
from sophon.models.gateway.streaming import StreamTap
from sophon.models.model import Meter, ModelInfo, ModelRequest, ModelResponse
from sophon.models.token_counter import TokenCounter


class AttemptAccounting:
    """Reservation and settlement of one attempt; ended by exactly one of `settle`, `charge` and `release`.

    The meter must undo a reservation whose caller is cancelled, and must complete a settlement or release even so:
    shielding scopes here would cost every attempt more than the accounting itself. Without a meter only the usage is
    computed.
    """

    __slots__ = ("_estimated", "_meter", "_reservation", "_tokens", "request", "started_at", "tap")

    def __init__(
        self, request: ModelRequest, tap: StreamTap | None, started_at: float, tokens: TokenCounter, meter: Meter | None
    ) -> None:
        self.request = request
        self.tap = tap
        self.started_at = started_at
        self._tokens = tokens
        self._meter = meter
        self._estimated = 0
        self._reservation: Any = None

    async def reserve(self, meter: Meter) -> None:
        """Reserve the worst case. Raises BudgetExceeded; if the meter fails, nothing is reserved."""
        self._reservation = await meter.reserve(self.request, self._input_tokens())

    async def settle(self, response: ModelResponse) -> Usage:
        """Settle a successful attempt with the reported usage, estimated if there is none; return the usage."""
        usage = self._usage(response)
        if self._meter is not None:
            await self._meter.settle(self._reservation, self.request, usage)
        return usage

    async def charge(self) -> Usage:
        """Settle an interrupted attempt with the input and the text produced so far; return the usage."""
        output_tokens = self._tokens.count_text("".join(self.tap.pieces)) if self.tap is not None else 0
        usage = usage_with_cost(self.request.model, self._input_tokens(), output_tokens)
        # Shielded, because the turn may already be cancelled.
        with anyio.CancelScope(shield=True):
            if self._meter is not None:
                await self._meter.settle(self._reservation, self.request, usage)
        return usage

    async def release(self) -> Usage:
        """Release the reservation of a failed attempt, which cost nothing; return an empty usage."""
        if self._meter is not None:
            await self._meter.release(self._reservation)
        return Usage()

    def _usage(self, response: ModelResponse) -> Usage:
        reported, model = response.usage, self.request.model
        if reported is None:
            return usage_with_cost(model, self._input_tokens(), self._tokens.count_response(response))
        if self._estimated:
            self._tokens.update_calibration(model.id, self._estimated, reported.input_tokens)
        if reported.cost_micros or model.prices is None:
            return reported
        return usage_with_cost(model, reported.input_tokens, reported.output_tokens, reported.cached_input_tokens)

    def _input_tokens(self) -> int:
        if not self._estimated:
            counted = self.request.input_tokens
            self._estimated = self._tokens.count_request(self.request) if counted is None else counted
        return self._tokens.calibrate(self._estimated, self.request.model.id)


def usage_with_cost(model: ModelInfo, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> Usage:
    """Return the usage of the tokens with its cost at the model's prices."""
    return Usage(input_tokens, output_tokens, model.cost_micros(input_tokens, output_tokens), cached_input_tokens)
