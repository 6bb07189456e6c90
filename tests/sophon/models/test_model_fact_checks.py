from typing import Any

import pytest

from sophon.errors import CompositionError
from sophon.models.model import ModelInfo, ModelRequest
from sophon.testing import FunctionModel, ScriptedModel
from tests.tables import table

WRONG_FACTS: list[dict[str, Any]] = [
    {"name": None},
    {"name": ""},
    {"context_window": "8k"},
    {"context_window": 0},
    {"function_calling": "no"},
    {"capabilities": "vision"},
    {"capabilities": [5]},
    {"prices": (-5.0, 1.0)},
    {"prices": (1,)},
    {"prices": "ab"},
    {"prices": (float("nan"), 1.0)},
]
WRONG_FACTS_OF_INFO: list[dict[str, Any]] = [
    *WRONG_FACTS,
    {"hosting": "Hosted"},
    {"hosting": "cloud"},
    {"hosting": None},
    {"hosting": 5},
    {"provider": None},
    {"streaming": 1},
    {"max_output_tokens": -1},
    {"cached_input_price": "1"},
    {"cache_write_factor": -1.0},
]


async def _answer(request: ModelRequest) -> str:
    return "hello"


@table("wrong", WRONG_FACTS_OF_INFO)
def test_a_wrong_fact_about_a_model_is_refused_by_its_name(wrong: dict[str, Any]) -> None:
    facts: dict[str, Any] = {"name": "m", "provider": "p", **wrong}

    with pytest.raises(CompositionError, match=next(iter(wrong))):
        ModelInfo(**facts)


@table("wrong", [*WRONG_FACTS, {"stream": "yes"}, {"stream": -1}])
def test_a_model_for_tests_refuses_wrong_facts(wrong: dict[str, Any]) -> None:
    with pytest.raises(CompositionError, match=next(iter(wrong))):
        FunctionModel(_answer, **wrong)
    with pytest.raises(CompositionError, match=next(iter(wrong))):
        ScriptedModel(["hello"], **wrong)
