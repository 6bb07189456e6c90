import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import InputError
from sophon_hosting.features.openai_api.completion_format import CompletionRequest, parse_completion_input


def talk(*said: tuple[str, object]):
    return parse_completion_input(
        CompletionRequest.validate({"messages": [{"role": role, "content": text} for role, text in said]})
    )


def test_the_last_message_is_answered_behind_the_others() -> None:
    found = talk(("system", "Be brief."), ("user", "a"), ("assistant", "b"), ("developer", "Be kind."), ("user", "c"))
    assert (found.text, found.history) == ("c", [("user", "a", ()), ("assistant", "b", ())])
    assert found.instructions == "Be brief.\n\nBe kind."


def test_parts_of_text_are_one_text_and_an_empty_message_is_left_out() -> None:
    found = talk(("assistant", None), ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    assert (found.text, found.history, found.instructions) == ("ab", [], None)


CALL = {"id": "x", "type": "function", "function": {"name": "fetch", "arguments": "{}"}}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "x", "content": "42"},
        {"role": "tool", "tool_call_id": "x", "content": [{"type": "text", "text": "42"}]},
        {"role": "function", "name": "fetch", "content": "42"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
        {"role": "assistant", "content": None, "function_call": {"name": "fetch", "arguments": "{}"}},
    ],
)
@pytest.mark.parametrize("more", [[], [{"role": "user", "content": "and now?"}]])
def test_what_the_client_s_tools_did_is_refused_and_not_left_out(message: object, more: list[object]) -> None:
    completion = CompletionRequest.validate({"messages": [{"role": "user", "content": "pay"}, message, *more]})
    with pytest.raises(InputError, match=r"messages\[1\].*the client's own tools are not run here"):
        parse_completion_input(completion)


def test_an_answer_without_calls_is_history() -> None:
    said: dict[str, object] = {
        "role": "assistant",
        "content": "b",
        "tool_calls": [],
        "function_call": None,
        "refusal": None,
    }
    user: dict[str, object] = {"role": "user", "content": "c"}
    assert parse_completion_input(CompletionRequest.validate({"messages": [said, user]})).history == [
        ("assistant", "b", ())
    ]


@pytest.mark.parametrize(
    "said",
    [
        [],
        [("assistant", "hello")],
        [("user", "  ")],
        [("user", "a"), ("assistant", "b")],
        [("user", [{"type": "image_url", "image_url": {"url": "x"}}])],
        [("user", [{"type": "text", "text": "a"}, {"type": "image_url"}])],
        [("user", [{"type": "text", "text": "a"}, {"type": "input_audio"}])],
        [("assistant", [{"type": "image_url", "image_url": {"url": "https://h/a.png"}}]), ("user", "a")],
        [("user", [{"type": "image_url", "image_url": {"url": "https://h/a.png"}}])],
    ],
)
def test_what_holds_nothing_to_answer_is_refused(said) -> None:
    with pytest.raises(InputError):
        talk(*said)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"n": 2}, "n: 2 choices are not supported"),
        ({"n": 0}, "n: 0 choices"),
        ({"response_format": {"type": "json_object"}}, "response_format: 'json_object' is not supported"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format: 'json_schema' is not"),
    ],
)
def test_another_form_of_the_answer_is_refused(asked: dict[str, object], says: str) -> None:
    messages = [{"role": "user", "content": "a"}]
    with pytest.raises(InputError, match=says):
        parse_completion_input(CompletionRequest.validate({"messages": messages, **asked}))


@pytest.mark.parametrize(
    "asked", [{"n": 1}, {"n": None, "response_format": None}, {"response_format": {"type": "text"}}]
)
def test_one_choice_of_text_may_be_asked_for(asked: dict[str, object]) -> None:
    messages = [{"role": "user", "content": "a"}]
    assert parse_completion_input(CompletionRequest.validate({"messages": messages, **asked})).text == "a"


ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])


@given(st.lists(st.tuples(ROLES, st.text(max_size=8) | st.none()), max_size=8))
def test_whatever_was_said_is_answered_or_refused(said) -> None:
    try:
        found = talk(*said)
    except InputError:
        return
    assert found.text.strip()
    assert all(text.strip() for _, text, _ in found.history)
