"""Messages, calls, results and usage go through JSON and come back as they were."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, Response, ToolCall, ToolResult, Usage
from sophon.messages import to_canonical_json
from tests.tables import table

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=4)
CALLS = st.builds(ToolCall, st.text(), st.text(), ARGUMENTS, st.one_of(st.none(), st.text()))
ROLES = st.sampled_from(["system", "user", "assistant", "tool"])
COUNTS = st.integers(0, 10**12)


def through_json(data: object) -> dict[str, object]:
    return json.loads(json.dumps(data))


@given(CALLS)
def test_a_call_comes_back_equal_and_with_the_same_digestible_arguments(call: ToolCall) -> None:
    back = ToolCall.from_json(through_json(call.to_json()))
    assert back == call
    assert back.canonical_arguments() == call.canonical_arguments()


@given(
    st.builds(
        Message, ROLES, st.text(), st.lists(CALLS, max_size=2), st.none() | st.text(), st.sampled_from(["", "hint"])
    )
)
def test_a_message_comes_back_equal(message: Message) -> None:
    assert Message.from_json(through_json(message.to_json())) == message


@given(st.builds(ToolResult, st.text(), st.text(), st.text(), st.sampled_from(["completed", "failed"]), COUNTS))
def test_a_result_comes_back_equal(result: ToolResult) -> None:
    assert ToolResult.from_json(through_json(result.to_json())) == result


@given(st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS), st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS))
def test_usage_comes_back_equal_and_adds_up_field_by_field(one: Usage, other: Usage) -> None:
    assert Usage.from_json(through_json(one.to_json())) == one
    added = (one + other).to_json()
    assert added == {name: value + other.to_json()[name] for name, value in one.to_json().items()}
    assert (one + other).total_tokens == one.total_tokens + other.total_tokens


@given(ARGUMENTS)
def test_the_order_of_keys_makes_no_difference(arguments: dict[str, object]) -> None:
    backwards = dict(reversed(list(arguments.items())))
    assert to_canonical_json(backwards) == to_canonical_json(arguments)


@table("value", [2**70, {"a": 2**70, "b": 1}, "\ud800", {"\udfff": ["\ud800"]}, {"n": -(2**64)}])
def test_what_the_fast_way_cannot_write_is_canonical_all_the_same(value: object) -> None:
    assert to_canonical_json(json.loads(json.dumps(value))) == to_canonical_json(value)


def test_different_arguments_have_different_canonical_forms() -> None:
    forms = [to_canonical_json(each) for each in ({"a": 1}, {"a": "1"}, {"a": None}, {"a": [1]}, {"b": 1}, {})]
    assert len(set(forms)) == len(forms)


def test_what_is_empty_is_left_out() -> None:
    assert Message("user", "x").to_json() == {"role": "user", "content": "x"}
    assert ToolCall("1", "t").to_json() == {"id": "1", "name": "t", "arguments": {}}


def test_caches_are_no_part_of_a_message() -> None:
    counted = Message("user", "x")
    object.__setattr__(counted, "tokens", ("counter", 3))
    assert counted == Message("user", "x")
    assert "tokens" not in counted.to_json()
    assert "counter" not in repr(counted)


def test_messages_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Message("user", "x").content = "y"  # type: ignore[misc] - that is the point


def test_fields_that_providers_leave_null_are_read_as_empty() -> None:
    assert Message.from_json({"role": "assistant", "content": None, "tool_calls": None}) == Message("assistant")
    assert ToolCall.from_json({"id": "1", "name": "t", "arguments": None}) == ToolCall("1", "t")
    assert Usage.from_json({"input_tokens": 3, "unknown": 1}) == Usage(3)


def test_two_responses_share_nothing() -> None:
    assert Response().tool_calls is not Response().tool_calls
    assert Message("user").tool_calls is not Message("user").tool_calls


@given(CALLS, st.text())
def test_a_call_under_another_id_keeps_its_keys(call: ToolCall, call_id: str) -> None:
    canonical = call.canonical_arguments()
    object.__setattr__(call, "identity", "key")
    other = call.with_id(call_id)
    assert other == ToolCall(call_id, call.name, call.arguments, call.malformed)
    assert (other.canonical_arguments() is canonical, other.identity) == (True, "key")
