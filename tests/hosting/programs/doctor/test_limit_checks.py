"""Checks of the doctor on prices, for models of all places."""

import pytest

from sophon import Services
from sophon.models.gateway.provider import Provider
from sophon.models.model import Hosting, ModelInfo
from sophon.testing import FunctionModel
from sophon_hosting.programs.doctor.limit_checks import check_prices


async def answer(request: object) -> str:
    return "ok"


def model(hosting: Hosting, prices: tuple[float, float] | None = None) -> Provider:
    found = FunctionModel(answer)
    found.info = ModelInfo("m", hosting, hosting=hosting, prices=prices)
    return Provider(hosting, [found])


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        ([model("local", (0.0, 0.0))], [("ok", "known for every model")]),
        ([model("local")], [("ok", "local/m: no price is known")]),
        (
            [model("local"), model("hosted")],
            [("failed", "the price of hosted"), ("ok", "local/m: no price")],
        ),
    ],
)
def test_what_counts_as_free_without_a_price_is_said_too(
    providers: list[Provider], expected: list[tuple[str, str]]
) -> None:
    found = list(check_prices(Services(models=providers)))
    assert [finding.grade for finding in found] == [grade for grade, _ in expected]
    assert all(finding.text.startswith(text) for finding, (_, text) in zip(found, expected, strict=True))
