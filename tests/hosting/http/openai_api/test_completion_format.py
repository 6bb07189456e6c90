import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import InputError
from sophon_hosting.http.openai_api.completion_format import CompletionRequest, parse_completion_input


def talk(*said: tuple[str, object]):
    return parse_completion_input(
        CompletionRequest.validate({"messages": [{"role": role, "content": text} for role, text in said]})
    )


def test_the_last_message_is_answered_behind_the_others() -> None:
    found = talk(("system", "Be brief."), ("user", "a"), ("assistant", "b"), ("developer", "Be kind."), ("user", "c"))
    assert (found.text, found.history) == ("c", [("user", "a", ()), ("assistant", "b", ())])
    assert found.instructions == "Be brief.\n\nBe kind."


def test_parts_of_text_are_one_text_and_calls_are_left_out() -> None:
    found = talk(
        ("assistant", None), ("tool", "42"), ("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    )
    assert (found.text, found.history, found.instructions) == ("ab", [], None)


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


ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])


@given(st.lists(st.tuples(ROLES, st.text(max_size=8) | st.none()), max_size=8))
def test_whatever_was_said_is_answered_or_refused(said) -> None:
    try:
        found = talk(*said)
    except InputError:
        return
    assert found.text.strip()
    assert all(text.strip() for _, text, _ in found.history)
