"""Cost of a model call."""

from sophon.models.call_cost import cost_micros
from sophon.models.model import ModelInfo
from tests.tables import table


@table(
    ("prices", "tokens", "micros"),
    [
        (None, (10, 10), 0),
        ((0.0, 0.0), (10**6, 10**6), 0),
        ((0.05, 0.0), (3, 0), 1),
        ((0.25, 2.0), (10, 3), 8),
        ((0.25, 2.0), (0, 0), 0),
        ((1e-9, 0.0), (1, 0), 1),
    ],
)
def test_a_call_that_costs_anything_costs_at_least_a_millionth_of_a_dollar(
    prices: tuple[float, float] | None, tokens: tuple[int, int], micros: int
) -> None:
    assert cost_micros(ModelInfo("m", "p", prices=prices), *tokens) == micros
