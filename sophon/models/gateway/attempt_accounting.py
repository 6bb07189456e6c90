"""Accounting of one attempt: reservation, settlement or release, and the usage with its cost."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio

from sophon.errors import ModelError, ModelTimeout
from sophon.messages import Usage
from sophon.models.call_cost import cost_micros
from sophon.models.gateway.attempt_deadline import AttemptDeadline
from sophon.models.gateway.options import AttemptLimits, GatewayDependencies
from sophon.models.gateway.stream_taps import StreamTap
from sophon.models.model import AttemptOutput, Meter, ModelInfo, ModelRequest, ModelResponse

_NOT_SENT = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "ClientConnectorError", "ConnectionTimeoutError", "gaierror"}
    | {"ConnectionRefusedError", "LocalProtocolError", "UnsupportedProtocol", "InvalidURL", "ProxyError"}
    | {"ClientHttpProxyError"}
)
"""Types of errors before a request is sent (httpx, aiohttp, the standard library), compared by name."""

_CUT = frozenset(
    {"ReadError", "WriteError", "CloseError", "RemoteProtocolError", "ServerDisconnectedError", "ClientPayloadError"}
    | {"ConnectionResetError", "ConnectionAbortedError", "BrokenPipeError", "IncompleteRead", "IncompleteReadError"}
    | {"ClientOSError"}
)
"""Types of errors of a connection that broke after the request was sent."""

_MAX_CAUSES = 10

MAX_REPORTED_TOKENS = 100_000_000
"""Most input or output tokens that one attempt can have used; a report of more is replaced by an estimate."""

MAX_REPORTED_MICROS = 100_000_000_000
"""Highest cost that a model may report for one attempt, in micro-USD (100,000 USD)."""


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
        on_silence: Callable[[float, float | None], None] | None = None,
    ) -> None:
        clock = gateway_dependencies.clock
        is_streamed = tap is not None and request.model.streaming
        super().__init__(clock, limits, output, tap, clock.monotonic(), is_streamed=is_streamed, on_silence=on_silence)
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


def has_cost(failure: Exception, output: AttemptOutput | None, produced: str) -> bool:
    """Return whether a failed attempt is charged: its input at least, and what it produced.

    A provider bills the input once it has begun to work, and nobody tells us when that was. An attempt that was sent
    and timed out, or whose connection broke, therefore counts as begun: a limit that is reached too early can be
    raised, the money of eighty requests that were never counted is gone. An attempt that was not sent (no connection),
    or that the provider answered with an HTTP error, is billed by none.
    """
    if produced or (output is not None and (output.usage is not None or output.pieces)):
        return True
    if not isinstance(failure, ModelError) or failure.status is not None:
        return False
    names = _error_names(failure)
    if names & _NOT_SENT:
        return False
    has_begun = output is not None and output.has_begun
    return has_begun or isinstance(failure, ModelTimeout) or bool(names & _CUT)


def _error_names(error: BaseException) -> set[str]:
    """Return the type names of an error and its causes."""
    names: set[str] = set()
    current: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if current is None or isinstance(current, asyncio.CancelledError):
            break
        names |= {each.__name__ for each in type(current).__mro__}
        current = current.__cause__ or current.__context__
    return names


def read_reported_usage(reported: object) -> Usage | None:
    """Return a report whose every field can be true, in whole numbers; None for any other value.

    A negative number would reopen a spent limit, and a huge one close it.
    """
    if not isinstance(reported, Usage):
        return None
    given, written, cost = reported.input_tokens, reported.output_tokens, reported.cost_micros
    cached, unpriced, reasoning = reported.cached_input_tokens, reported.unpriced_tokens, reported.reasoning_tokens
    if (
        type(given) is type(written) is type(cost) is type(cached) is type(unpriced) is type(reasoning) is int
        and 0 <= cached <= given <= MAX_REPORTED_TOKENS
        and 0 <= reasoning <= written <= MAX_REPORTED_TOKENS
        and 0 <= cost <= MAX_REPORTED_MICROS
        and 0 <= unpriced <= MAX_REPORTED_TOKENS
    ):
        return reported  # already as it must be, which nearly every report is
    return _read_closely(reported)


def _read_closely(reported: Usage) -> Usage | None:
    input_tokens = _read_count(reported.input_tokens)
    output_tokens = _read_count(reported.output_tokens)
    cost = _read_count(reported.cost_micros, MAX_REPORTED_MICROS)
    cached = _read_count(reported.cached_input_tokens)
    unpriced = _read_count(reported.unpriced_tokens)
    reasoning = _read_count(reported.reasoning_tokens)
    if (
        input_tokens is None
        or output_tokens is None
        or cost is None
        or cached is None
        or unpriced is None
        or reasoning is None
    ):
        return None
    return Usage(input_tokens, output_tokens, cost, min(cached, input_tokens), unpriced, min(reasoning, output_tokens))


def usage_with_cost(model: ModelInfo, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> Usage:
    """Return the usage of the tokens with its cost at the model's prices."""
    cost = 0 if model.prices is None else cost_micros(model, input_tokens, output_tokens, cached_input_tokens)
    unpriced = input_tokens + output_tokens if model.is_cost_unknown else 0
    return Usage(input_tokens, output_tokens, cost, cached_input_tokens, unpriced)


def _read_count(value: object, most: int = MAX_REPORTED_TOKENS) -> int | None:
    """Return a number from 0 to `most`, as a whole number; None for any other value."""
    if type(value) is not int:
        if isinstance(value, float):
            value = int(value) if math.isfinite(value) else None
        if not isinstance(value, int) or isinstance(value, bool):
            return None
    return value if 0 <= value <= most else None
