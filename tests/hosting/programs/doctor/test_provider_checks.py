"""`sophon doctor` says what the models are good at, and which of them votes."""

import pytest

from sophon import Services
from sophon.models.gateway.provider import Provider
from sophon.testing import FunctionModel
from sophon_hosting.programs.doctor.provider_checks import check_capabilities


async def answer(request: object) -> str:
    return "ok"


@pytest.mark.parametrize(
    ("capabilities", "votes"),
    [
        (("fast", "vision"), "votes go to own/small"),
        (("vision",), "no model is 'fast', so votes go to the turn's own model"),
    ],
)
def test_doctor_names_the_capabilities_and_the_model_that_votes(capabilities: tuple[str, ...], votes: str) -> None:
    models = [FunctionModel(answer, name="large"), FunctionModel(answer, name="small", capabilities=capabilities)]
    found = check_capabilities(Services(models=[Provider("own", models)]))
    assert found.grade == "ok"
    assert "vision" in found.text
    assert found.text.endswith(votes)
