"""The usage that a model reports: what of it can be true, and its cost at the model's prices."""

import math
from dataclasses import fields

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
    values: dict[str, int] = {}
    for field in fields(reported):
        value = _read_number(getattr(reported, field.name))
        most = MAX_REPORTED_MICROS if field.name == "cost_micros" else MAX_REPORTED_TOKENS
        if value is None or not 0 <= value <= most:
            return None
        values[field.name] = value
    values["cached_input_tokens"] = min(values["cached_input_tokens"], values["input_tokens"])
    values["reasoning_tokens"] = min(values["reasoning_tokens"], values["output_tokens"])
    return Usage(**values)


def usage_with_cost(model: ModelInfo, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> Usage:
    """Return the usage of the tokens with its cost at the model's prices."""
    cost = model.cost_micros(input_tokens, output_tokens, cached_input_tokens)
    unpriced = input_tokens + output_tokens if model.is_cost_unknown else 0
    return Usage(input_tokens, output_tokens, cost, cached_input_tokens, unpriced)


def _read_number(value: object) -> int | None:
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
