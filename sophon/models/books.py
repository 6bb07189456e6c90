"""The books of one attempt: what is reserved for it, what it cost, and that both are closed."""

from typing import Any

import anyio

from sophon.messages import Usage
from sophon.models.listening import Ear
from sophon.models.model import Meter, ModelInfo, ModelRequest, ModelResponse
from sophon.models.tokens import TokenCounter


class Books:
    """Opened for one attempt and closed by exactly one of `settle`, `charge` and `release`.

    A meter's own part of the bargain is that a claim whose caller is cancelled undoes itself, and that what is settled
    or released is done even so; the scopes that shield a cancelled turn would cost every attempt more than the rest.
    Without a meter only the usage is computed.
    """

    __slots__ = ("_estimated", "_meter", "_reservation", "_tokens", "ear", "request", "started")

    def __init__(
        self, request: ModelRequest, ear: Ear | None, started: float, tokens: TokenCounter, meter: Meter | None
    ) -> None:
        self.request = request
        self.ear = ear
        self.started = started
        self._tokens = tokens
        self._meter = meter
        self._estimated = 0
        self._reservation: Any = None

    async def reserve(self, meter: Meter) -> None:
        """Claim the worst case. Raises BudgetExceeded; a meter that fails here has reserved nothing."""
        self._reservation = await meter.reserve(self.request, self._input())

    async def settle(self, response: ModelResponse) -> Usage:
        """It was answered: the usage reported, or an estimate if there is none."""
        usage = self._usage(response)
        if self._meter is not None:
            await self._meter.settle(self._reservation, self.request, usage)
        return usage

    async def charge(self) -> Usage:
        """It was cut off: the input, and what the model had said by then."""
        said = self._tokens.text("".join(self.ear.pieces)) if self.ear is not None else 0
        usage = priced(self.request.model, self._input(), said)
        # The turn may be cancelled already, and this await must happen all the same.
        with anyio.CancelScope(shield=True):
            if self._meter is not None:
                await self._meter.settle(self._reservation, self.request, usage)
        return usage

    async def release(self) -> Usage:
        """It failed and cost nothing."""
        if self._meter is not None:
            await self._meter.release(self._reservation)
        return Usage()

    def _usage(self, response: ModelResponse) -> Usage:
        reported, model = response.usage, self.request.model
        if reported is None:
            return priced(model, self._input(), self._tokens.response(response))
        if self._estimated:
            self._tokens.learn(model.id, self._estimated, reported.input_tokens)
        if reported.cost_micros or model.prices is None:
            return reported
        return priced(model, reported.input_tokens, reported.output_tokens, reported.cached_input_tokens)

    def _input(self) -> int:
        if not self._estimated:
            counted = self.request.input_tokens
            self._estimated = self._tokens.request(self.request) if counted is None else counted
        return self._tokens.calibrated(self._estimated, self.request.model.id)


def priced(model: ModelInfo, tokens_in: int, tokens_out: int, cached: int = 0) -> Usage:
    """So many tokens with what they cost."""
    return Usage(tokens_in, tokens_out, model.cost_micros(tokens_in, tokens_out), cached)
