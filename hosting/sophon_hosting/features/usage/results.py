"""Results of usage: tokens and cost by day and model, limits of providers, turns by day and person."""

from typing import NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.messages import Usage
from sophon.stores.usage.contract import UsageTotal


class UsageView(TypedDict):
    """Tokens of model calls, and their cost in micro-USD; tokens of unknown price are not in the cost."""

    input_tokens: int
    output_tokens: int
    cost_micros: int
    cached_input_tokens: int
    unpriced_tokens: int
    reasoning_tokens: NotRequired[int]


class ModelUsage(UsageView):
    """Usage of a model on one day."""

    day: str
    provider: str
    model: str
    calls: int


class ProviderLimit(TypedDict):
    """Usage of a provider today and this month, reservations included, and its limits; null is no limit."""

    provider: str
    tokens_today: int
    daily_tokens: int | None
    day_ends: str
    cost_micros_this_month: int
    monthly_cost_micros: int | None
    month_ends: str


class UsageReport(TypedDict):
    """Usage by day, provider and model; the limits for operators who ask about all sessions."""

    items: list[ModelUsage]
    limits: NotRequired[list[ProviderLimit]]


class TurnTotalView(TypedDict):
    """Turns of one person on one day, by how they ended and how long they worked."""

    day: str
    principal: str
    turns: int
    failed: int
    cancelled: int
    working_ms: int
    max_working_ms: int
    tokens: int
    cost_micros: int
    p50_working_ms: int
    p95_working_ms: int
    mean_working_ms: int


class TurnReport(TypedDict):
    """Turns by day and person."""

    items: list[TurnTotalView]


def usage_to_json(usage: Usage) -> UsageView:
    """Return a usage as JSON."""
    return cast(UsageView, usage.to_json())


def model_usage_to_json(total: UsageTotal) -> ModelUsage:
    """Return the usage of a model on one day as JSON."""
    return {
        "day": total.day,
        "provider": total.provider,
        "model": total.model,
        "calls": total.calls,
        **usage_to_json(total.usage),
    }
