"""A usage that a model reports is believed only if it can be true."""

import math
from typing import Any

from sophon.messages import Usage
from sophon.models.gateway.attempt_accounting import read_reported_usage, usage_with_cost
from sophon.models.model import ModelInfo
from tests.tables import table


@table(
    ("reported", "read"),
    [
        (Usage(12, 3), Usage(12, 3)),
        (Usage(12.0, 3.7), Usage(12, 3)),  # type: ignore[arg-type]
        (Usage(12, 3, 0, 99, 0, 99), Usage(12, 3, 0, 12, 0, 3)),
        (None, None),
        ({"input_tokens": 1}, None),
        *(
            (Usage(odd, 3), None)  # type: ignore[arg-type]
            for odd in (None, "12", [1], True, -1, math.nan, math.inf, 10**9, 10**400)
        ),
        *((Usage(1, 1, **{name: -1}), None) for name in ("cost_micros", "unpriced_tokens", "reasoning_tokens")),
        *((Usage(1, 1, **{name: 10**12}), None) for name in ("cost_micros", "unpriced_tokens", "reasoning_tokens")),
    ],
)
def test_a_report_is_read_or_ignored(reported: Any, read: Usage | None) -> None:
    assert read_reported_usage(reported) == read


def test_cached_input_has_its_own_price() -> None:
    model = ModelInfo("m", "p", prices=(10.0, 40.0), cached_input_price=1.0)
    assert usage_with_cost(model, 1000, 10, 800).cost_micros == 200 * 10 + 800 * 1 + 10 * 40


def test_cached_input_without_a_price_of_its_own_costs_the_full_price() -> None:
    assert usage_with_cost(ModelInfo("m", "p", prices=(10.0, 40.0)), 1000, 10, 800).cost_micros == 1000 * 10 + 10 * 40
