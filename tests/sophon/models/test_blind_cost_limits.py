"""The limit on the cost that a model of unknown price would never reach."""

from typing import Any

from sophon.models.blind_cost_limits import find_blind_cost_limit
from sophon.models.model import Hosting, ModelInfo
from sophon.settings import Settings
from tests.tables import table

MONTHLY = {"Providers": {"*": {"MonthlyCost": 9}}}
OWN = {"Providers": {"*": {"MonthlyCost": 9}, "p": {"MonthlyCost": 3}}}
NONE_OF_ITS_OWN = {"Providers": {"*": {"MonthlyCost": 9}, "p": {"DailyTokens": 3}}}


@table(
    ("hosting", "budget", "expected"),
    [
        ("hosted", {}, ("Budget.Turn.Cost", 5.0)),
        ("hosted", {"Turn": {"Cost": 0}}, ("Budget.Turn.Cost", 0)),
        ("hosted", {"Turn": {"Cost": None}}, None),
        ("hosted", MONTHLY, ("Budget.Providers.*.MonthlyCost", 9)),
        ("hosted", OWN, ("Budget.Providers.p.MonthlyCost", 3)),
        ("hosted", NONE_OF_ITS_OWN, ("Budget.Turn.Cost", 5.0)),
        ("private", {}, None),
        ("private", MONTHLY, ("Budget.Providers.*.MonthlyCost", 9)),
        ("local", MONTHLY, None),
    ],
)
@table("prices", [None, (0.0, 0.0), (1.0, 2.0)])
def test_a_limit_is_blind_to_a_model_whose_price_it_needs_and_does_not_know(
    hosting: Hosting, budget: dict[str, Any], expected: Any, prices: tuple[float, float] | None
) -> None:
    model = ModelInfo("m", "p", hosting=hosting, prices=prices)
    found = find_blind_cost_limit(model, Settings.from_mapping({"Budget": budget}).budget)
    assert found == (expected if prices is None else None)
