"""A model of one's own may return anything: what nothing could use is an error, what a model can repair is told it."""

from typing import Any

import orjson
import pytest

from sophon.messages import ToolCall
from sophon.models.gateway.response_check import check_response
from sophon.models.model import ModelResponse
from tests.tables import table


class Hostile:
    def __repr__(self) -> str:
        raise ValueError("no")


@table(
    ("returned", "told"),
    [
        (None, "the model returned None, which is not a ModelResponse"),
        (Hostile(), "an object of the type Hostile"),
        ("sk-" + "a1" * 40, "REDACTED"),
        (ModelResponse(None), "whose text is None"),  # type: ignore[arg-type]
        (ModelResponse([{"text": "x"}]), "whose text is"),  # type: ignore[arg-type]
        (ModelResponse("x", None), "whose tool_calls are None"),  # type: ignore[arg-type]
        (ModelResponse("x", reasoning=None), "whose reasoning is None"),  # type: ignore[arg-type]
        (ModelResponse("x", [{"id": "1"}]), "is not a ToolCall"),  # type: ignore[list-item]
        (ModelResponse("x", [ToolCall("1", None)]), "whose name is None"),  # type: ignore[arg-type]
    ],
)
def test_a_type_that_nothing_can_use_is_named(returned: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        check_response(returned)


DEEP: Any = []
for _ in range(3000):
    DEEP = [DEEP]


@table("arguments", [None, [1, 2], "x", {1: 2}, {"x": b"1"}, {"x": object()}, {"x": float("nan")}, {"x": DEEP}])
def test_arguments_that_are_no_json_make_the_call_malformed(arguments: Any) -> None:
    (call,) = check_response(ModelResponse("", [ToolCall("1", "echo", arguments)])).tool_calls
    assert call.malformed
    assert orjson.loads(orjson.dumps(call.to_json()))["arguments"] == {}


@table(("given", "kept"), [(None, ""), (5, "5"), ([1], "[1]")])
def test_the_id_of_a_call_is_a_text(given: Any, kept: str) -> None:
    (call,) = check_response(ModelResponse("", [ToolCall(given, "echo")])).tool_calls
    assert call.id == kept


@table("fields", [None, 7, {"a": object()}])
def test_reasoning_fields_that_cannot_be_stored_are_dropped(fields: Any) -> None:
    assert check_response(ModelResponse("x", reasoning_fields=fields)).reasoning_fields == {}


def test_a_sound_response_passes_as_it_is() -> None:
    response = ModelResponse("x", [ToolCall("1", "echo", {"x": [1, {"y": None}]})], reasoning_fields={"a": ["b"]})
    assert check_response(response) is response
