import pytest

from sophon.messages import Message, ToolCall
from sophon.models.wire import Dialect, ToolTexts, dialect_of, message_json, own_names
from sophon.tools.tool import tool

PLAIN, REASONING = Dialect(), Dialect("max_completion_tokens", temperature=False)


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("gpt-4o-mini", PLAIN),
        ("gpt-4.1", PLAIN),
        ("gpt-5-chat-latest", PLAIN),
        ("gpt-oss-120b", PLAIN),
        ("llama3.2", PLAIN),
        ("gpt-5-mini", REASONING),
        ("gpt-5.4-nano", REASONING),
        ("o3", REASONING),
        ("o4-mini", REASONING),
        ("openai/o3", REASONING),
    ],
)
def test_reasoning_models_are_known_by_their_names(name: str, dialect: Dialect) -> None:
    assert dialect_of(name) == dialect


@pytest.mark.parametrize(
    ("message", "shape"),
    [
        (Message("system", "x"), {"role": "system", "content": "x"}),
        (Message("assistant", ""), {"role": "assistant", "content": ""}),
        (Message("tool", "x", tool_call_id="a"), {"role": "tool", "content": "x", "tool_call_id": "a"}),
        (Message("user", "cat \ud83d"), {"role": "user", "content": "cat ?"}),
    ],
)
def test_a_message_has_openais_shape(message: Message, shape: dict[str, object]) -> None:
    assert message_json(message) == shape


def test_a_malformed_call_is_sent_back_without_arguments() -> None:
    (sent,) = message_json(Message("assistant", "", [ToolCall("a", "f.g", malformed="no JSON")]))["tool_calls"]
    assert sent["function"] == {"name": "f_g", "arguments": "{}"}


def test_a_tool_is_made_into_json_once() -> None:
    @tool(name="a.b")
    def f(x: int) -> None:
        """Do."""

    texts = ToolTexts()
    assert texts.of(f) is texts.of(f)
    assert own_names([f]) == {"a_b": "a.b"}
