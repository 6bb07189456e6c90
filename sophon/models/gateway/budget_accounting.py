"""One attempt: its deadline, and its accounting: reservation, settlement or release, and the usage with its cost."""

from dataclasses import replace
from typing import Any

import anyio

from sophon.messages import Usage
from sophon.models.gateway.attempt_cost import has_cost
from sophon.models.gateway.attempt_deadline import AttemptDeadline
from sophon.models.gateway.attempt_limits import AttemptLimits
from sophon.models.gateway.gateway_dependencies import GatewayDependencies
from sophon.models.gateway.reported_usage import read_reported_usage, usage_with_cost
from sophon.models.gateway.streaming import StreamTap
from sophon.models.model import AttemptOutput, Meter, ModelRequest, ModelResponse


class Attempt(AttemptDeadline):
    """One attempt, which ends with exactly one of `settle`, `charge` and `release`; as a context manager its deadline.

    One object for both, because every model call makes one. The meter must undo a reservation whose caller is
    cancelled, and must complete a settlement or release even so: shielding scopes here would cost every attempt more
    than the accounting itself. Without a meter only the usage is computed.
    """

    __slots__ = ("_estimated", "_meter", "_tokens", "request", "reservation", "span_id")

    def __init__(
        self,
        request: ModelRequest,
        output: AttemptOutput,
        tap: StreamTap | None,
        meter: Meter | None,
        gateway_dependencies: GatewayDependencies,
        limits: AttemptLimits,
    ) -> None:
        clock = gateway_dependencies.clock
        is_streamed = tap is not None and request.model.streaming
        super().__init__(clock, limits, output, tap, clock.monotonic(), is_streamed=is_streamed)
        self.request = request
        self._tokens = gateway_dependencies.tokens
        self._meter = meter
        self._estimated = 0
        self.span_id = ""
        """Id of the span that the provider gets as its caller, if the trace is passed on."""
        self.reservation: Any = None
        """What the meter returned for the worst case of the attempt; None without a meter."""

    async def settle(self, response: ModelResponse) -> Usage:
        """Settle a successful attempt with the reported usage; return the usage.

        What the report lacks, also half of it, is estimated; a report that cannot be true counts as none.
        """
        try:
            usage = self._usage(response.usage, response)
        except BaseException:
            await self.release()
            raise
        if self._meter is not None:
            await self._meter.settle(self.reservation, self.request, usage)
        return usage

    async def charge(self) -> Usage:
        """Settle an interrupted attempt with what was reported, else its input and all that it produced."""
        usage = self._usage(self.output.usage, None)
        # Shielded, because the turn may already be cancelled.
        with anyio.CancelScope(shield=True):
            if self._meter is not None:
                await self._meter.settle(self.reservation, self.request, usage)
        return usage

    async def end_failed(self, failure: Exception) -> Usage:
        """Charge a failed attempt if it has cost something, else release its reservation; return the usage."""
        produced = self.tap.produced_text if self.tap is not None else ""
        return await (self.charge() if has_cost(failure, self.output, produced) else self.release())

    async def release(self) -> Usage:
        """Release the reservation of a failed attempt, which cost nothing; return an empty usage."""
        if self._meter is not None:
            await self._meter.release(self.reservation)
        return Usage()

    def _usage(self, report: object, response: ModelResponse | None) -> Usage:
        """Return the usage of an answer, or without a `response` of what was produced before the attempt ended."""
        reported, model = read_reported_usage(report), self.request.model
        if reported is None:
            return usage_with_cost(model, self.count_input(), self._output_tokens(response))
        if reported.input_tokens and self._estimated:
            self._tokens.update_calibration(model.id, self._estimated, reported.input_tokens)
        if self.output.is_half_usage:
            reported = replace(
                reported,
                input_tokens=reported.input_tokens or self.count_input(),
                output_tokens=reported.output_tokens or self._output_tokens(response),
            )
        if reported.cost_micros or (model.prices is None and model.hosting != "hosted"):
            return reported
        priced = usage_with_cost(model, reported.input_tokens, reported.output_tokens, reported.cached_input_tokens)
        return replace(priced, reasoning_tokens=reported.reasoning_tokens)

    def _output_tokens(self, response: ModelResponse | None) -> int:
        """Return the tokens of the response; without one those of what was streamed, or of what the model noted, which
        contains the calls, if more.
        """
        if response is not None:
            return self._tokens.count_response(response)
        streamed = self._tokens.count_text(self.tap.produced_text) if self.tap is not None else 0
        return max(streamed, self._tokens.count_text("".join(self.output.pieces)))

    def count_input(self) -> int:
        """Return the calibrated tokens of the request."""
        if not self._estimated:
            counted = self.request.input_tokens
            self._estimated = self._tokens.count_request(self.request) if counted is None else counted
        return self._tokens.calibrate(self._estimated, self.request.model.id)
