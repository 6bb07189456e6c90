import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import BadRequest, ProviderUnavailable
from sophon.messages import ToolCall, Usage
from sophon.models.model import AttemptOutput, ModelResponse
from sophon.models.providers.openai.response_accumulator import ResponseAccumulator, parse_json_object
from sophon.models.providers.openai.tool_call_assembly import parse_tool_arguments
from sophon.models.providers.provider_http_error import ProviderHttpError
from tests.tables import table


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def piece(arguments: object = None, **more: Any) -> dict[str, Any]:
    function = {
        name: value for name, value in {"name": more.pop("name", None), "arguments": arguments}.items() if value
    }
    return chunk(tool_calls=[{**more, "function": function}])


def assembled(*chunks: Mapping[str, Any], streamed: bool = True) -> ModelResponse:
    assembly = ResponseAccumulator()
    for each in chunks:
        assembly.add_chunk(each)
    return assembly.to_response([], is_streamed=streamed)


@given(st.text(st.characters(codec="utf-16"), max_size=20), st.lists(st.integers(0, 40), max_size=5))
def test_a_text_in_pieces_is_the_text_even_if_a_pair_was_cut_in_two(text: str, places: list[int]) -> None:
    units = text.encode("utf-16-le")
    borders = sorted({0, len(units), *(2 * place for place in places if 2 * place < len(units))})
    parts = [units[start:end].decode("utf-16-le", "surrogatepass") for start, end in itertools.pairwise(borders)]
    assembly = ResponseAccumulator()
    heard = "".join(assembly.add_chunk(chunk(content=part)) for part in parts)
    assembly.add_chunk(chunk(finish="stop"))
    assert assembly.to_response([], is_streamed=True).text == heard == text


def test_a_half_pair_at_the_very_end_becomes_a_question_mark() -> None:
    assert assembled(chunk(content="cat \ud83d"), chunk(finish="stop")).text == "cat ?"


@table(
    "pieces",
    [
        [piece('{"a":', index=0, id="x", name="f"), piece("1}", index=0), piece('{"a":2}', index=1, id="y", name="g")],
        [piece('{"a":1}', id="x", name="f"), piece('{"a":2}', id="y", name="g")],
        [piece('{"a":1}', index=0, id="x", name="f"), piece('{"a":2}', index=0, id="y", name="g")],
        [
            piece('{"a":', index=0, id="x", name="f"),
            piece("1}", index=0, id="x"),
            piece('{"a":2}', index=1, id="y", name="g"),
        ],
        [piece({"a": 1}, index=0, id="x", name="f"), piece({"a": 2}, index=1, id="y", name="g")],
        [
            piece(index=0, id="x", name="f"),
            piece(index=1, id="y", name="g"),
            piece('{"a":2}', index=1),
            piece('{"a":1}', index=0),
        ],
    ],
)
def test_calls_are_told_apart_however_a_provider_numbers_them(pieces: list[dict[str, Any]]) -> None:
    response = assembled(*pieces, chunk(finish="tool_calls"))
    assert response.tool_calls == [ToolCall("x", "f", {"a": 1}), ToolCall("y", "g", {"a": 2})]


SAME_ID = [
    [piece('{"a":1}', index=0, id="x", name="f"), piece('{"a":2}', index=1, id="x", name="f")],
    [
        piece(index=0, id="x", name="f"),
        piece(index=1, id="x", name="f"),
        piece('{"a":2}', index=1),
        piece('{"a":1}', index=0),
    ],
    [piece('{"a":1}', index=0, id="x", name="f"), piece('{"a":2}', index=0, id="x", name="f")],
    [piece('{"a":1}', id="x", name="f"), piece('{"a":2}', id="x", name="f")],
    [piece('{"a":', id="x", name="f"), piece("1}", id="x", name="f"), piece('{"a":2}', id="x", name="f")],
    [
        piece(index=0, id="x", name="f"),
        piece('{"a":1}', index=0),
        piece(index=0, id="x", name="f"),
        piece('{"a":', index=0),
        piece("2}", index=0),
    ],
    [chunk(tool_calls=[{"id": "x", "function": {"name": "f", "arguments": {"a": n}}} for n in (1, 2)])],
]


@table("pieces", SAME_ID)
def test_calls_that_share_an_id_are_never_merged(pieces: list[dict[str, Any]]) -> None:
    response = assembled(*pieces, chunk(finish="tool_calls"))
    calls = {(call.name, call.arguments["a"], call.malformed) for call in response.tool_calls}
    assert calls == {("f", 1, None), ("f", 2, None)}
    assert len(response.tool_calls) == 2


def test_calls_of_different_tools_that_share_an_id_are_never_merged() -> None:
    pieces = [piece('{"a":', index=0, id="x", name="f"), piece('{"b":2}', index=0, id="x", name="g")]
    assert [call.name for call in assembled(*pieces, chunk(finish="tool_calls")).tool_calls] == ["f", "g"]


@table("index", [0, None])
def test_a_header_that_is_repeated_at_the_end_begins_no_call(index: int | None) -> None:
    numbered = {} if index is None else {"index": index}
    pieces = [piece('{"a":1}', id="x", name="f", **numbered), piece(id="x", name="f", **numbered)]
    assert assembled(*pieces, chunk(finish="tool_calls")).tool_calls == [ToolCall("x", "f", {"a": 1})]


def test_calls_without_ids_and_indexes_are_one_each() -> None:
    calls = [{"function": {"name": name, "arguments": {"a": 1}}} for name in "fg"]
    message = {"content": None, "tool_calls": calls}
    whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
    response = assembled(whole, streamed=False)
    assert [(call.id, call.name) for call in response.tool_calls] == [("", "f"), ("", "g")]


@table(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("function_call", "tool_calls"),
    ],
)
def test_finish_reasons_are_brought_to_three(reason: str, finish: str) -> None:
    assert assembled(chunk(content="x"), chunk(finish=reason)).finish_reason == finish


@table(("reason", "kind"), [("content_filter", BadRequest), ("error", ProviderUnavailable)])
def test_an_answer_that_was_stopped_is_an_error(reason: str, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        assembled(chunk(content="x"), chunk(finish=reason))


def test_a_refusal_is_its_text_and_without_one_an_error() -> None:
    assert assembled(chunk(refusal="I cannot help with that."), chunk(finish="refusal")).text.startswith("I cannot")
    with pytest.raises(BadRequest):
        assembled(chunk(content=" "), chunk(finish="refusal"))


def test_a_whole_answer_needs_no_finish_reason_and_a_stream_does() -> None:
    assert assembled({"choices": [{"message": {"content": "x"}}]}, streamed=False).text == "x"
    with pytest.raises(ProviderUnavailable, match="cut off"):
        assembled(chunk(content="x"))


@table(
    ("usage", "read"),
    [
        (None, None),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": 3, "completion_tokens": None, "prompt_tokens_details": None}, Usage(3, 0)),
        (
            {"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
            Usage(3, 2, 0, 1),
        ),
        *(
            ({"prompt_tokens": 3, "completion_tokens": 2, "prompt_tokens_details": odd}, Usage(3, 2))
            for odd in ([], [1], "x", 7, True)
        ),
        ({"prompt_tokens": 3, "completion_tokens": 2, "completion_tokens_details": "x"}, Usage(3, 2)),
        *((odd, None) for odd in ([1], "none", 5, True, {"prompt_tokens": [1], "completion_tokens": float("nan")})),
        ({"prompt_tokens": "12", "completion_tokens": 3}, Usage(12, 3)),
        ({"prompt_tokens": [1], "completion_tokens": 3}, Usage(0, 3)),
    ],
)
def test_usage_is_what_was_counted_or_nothing(usage: Any, read: Usage | None) -> None:
    assert assembled(chunk(finish="stop"), {"choices": [], "usage": usage}).usage == read


@table("finish", ["content_filter", "error", None])
def test_what_arrived_is_noted_for_an_answer_that_fails(finish: str | None) -> None:
    output = AttemptOutput()
    assembly = ResponseAccumulator(output)
    assembly.add_chunk(chunk(reasoning_content="hm", content="Go"))
    assembly.add_chunk(piece('{"a":', index=0, id="x", name="f"))
    assembly.add_chunk(chunk(finish=finish) | {"usage": {"prompt_tokens": 10, "completion_tokens": 9000}})
    with pytest.raises((BadRequest, ProviderUnavailable)):
        assembly.to_response([], is_streamed=True)
    assert (output.has_begun, output.usage, "".join(output.pieces)) == (True, Usage(10, 9000), 'hmGof{"a":')


def test_the_fields_of_a_tool_call_may_have_any_type() -> None:
    odd = {"index": [1], "id": 7, "function": {"name": "f", "arguments": {"a": 1}}}
    assert assembled(chunk(tool_calls=[odd]), chunk(finish="stop")).tool_calls == [ToolCall("7", "f", {"a": 1})]


def test_a_page_in_place_of_an_answer_shows_no_part_of_a_key() -> None:
    key = "sk-" + "9f8e7d6c5b4a39281706" * 2
    with pytest.raises(ProviderUnavailable) as caught:
        parse_json_object(f"<html>{'.' * 160}{key}</html>".encode())
    assert "9f8e" not in str(caught.value)


def test_text_in_parts_is_the_text_of_the_text_parts() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Good "}, {"type": "text", "text": "day"}]
    assert assembled(chunk(content=parts, finish="stop")).text == "Good day"


@pytest.mark.parametrize("odd", [{"choices": 7}, {"choices": [None]}, chunk(content=7), chunk(tool_calls=[7])])
def test_an_answer_in_another_shape_is_the_providers_fault(
    odd: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        assembled(odd)
    assert str(caught.value) == "the provider's response is not in the expected form"
    assert "Error(" in caplog.text


@table(
    ("error", "status"),
    [("boom", 502), ({"message": "boom", "code": 429}, 429), ({"message": "boom", "code": "x"}, 502)],
)
def test_an_error_in_place_of_an_answer_keeps_its_status(error: object, status: int) -> None:
    with pytest.raises(ProviderHttpError, match="boom") as caught:
        assembled({"error": error})
    assert caught.value.status_code == status


@given(st.text())
def test_any_text_gives_arguments_or_a_reason(text: str) -> None:
    arguments, malformed = parse_tool_arguments(text)
    assert malformed is None or arguments == {}


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans()))
def test_arguments_that_are_an_object_are_read(arguments: dict[str, Any]) -> None:
    assert parse_tool_arguments(json.dumps(arguments)) == (arguments, None)


def test_what_is_no_number_in_json_is_malformed() -> None:
    assert parse_tool_arguments('{"x": NaN}') == ({}, "the arguments are not valid JSON: NaN is not a JSON number")


def test_arguments_nested_without_end_are_malformed() -> None:
    assert parse_tool_arguments("[" * 100_000)[1] is not None


@table("data", [b"", b"<html>", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_the_providers_fault(data: bytes) -> None:
    with pytest.raises(ProviderUnavailable, match="not a JSON object"):
        parse_json_object(data)
