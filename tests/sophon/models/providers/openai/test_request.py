import pytest

from sophon.messages import Message, ToolCall
from sophon.models.providers.openai.request import (
    OpenAIDialect,
    ToolJsonCache,
    dialect_for_model,
    message_to_json,
    tool_names_by_wire_name,
)
from sophon.tools.tool import tool

PLAIN, REASONING = OpenAIDialect(), OpenAIDialect("max_completion_tokens", accepts_temperature=False)


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
def test_reasoning_models_are_known_by_their_names(name: str, dialect: OpenAIDialect) -> None:
    assert dialect_for_model(name) == dialect


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
    assert message_to_json(message) == shape


def test_a_malformed_call_is_sent_back_without_arguments() -> None:
    (sent,) = message_to_json(Message("assistant", "", [ToolCall("a", "f.g", malformed="no JSON")]))["tool_calls"]
    assert sent["function"] == {"name": "f_g", "arguments": "{}"}


def test_a_tool_is_made_into_json_once() -> None:
    @tool(name="a.b")
    def f(x: int) -> None:
        """Do."""

    texts = ToolJsonCache()
    assert texts.get_json(f) is texts.get_json(f)
    assert tool_names_by_wire_name([f]) == {"a_b": "a.b"}
