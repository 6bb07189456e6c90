"""The usage that a model reports: what of it can be true, and its cost at the model's prices."""

import math

from sophon.messages import Usage
from sophon.models.model import ModelInfo

MAX_REPORTED_TOKENS = 100_000_000
"""Most input or output tokens that one attempt can have used; a report of more is replaced by an estimate."""
MAX_REPORTED_MICROS = 100_000_000_000
"""Highest cost that a model may report for one attempt, in micro-USD (100,000 USD)."""


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
    cost = model.cost_micros(input_tokens, output_tokens, cached_input_tokens)
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
