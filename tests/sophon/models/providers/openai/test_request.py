import json
from typing import Any

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.providers.openai.dialect import OpenAIDialect, dialect_for_model
from sophon.models.providers.openai.request import (
    RequestWriter,
    ToolJsonCache,
    message_to_json,
    tool_names_by_wire_name,
)
from sophon.tools.tool import tool
from tests.tables import table

INFO = ModelInfo("small", "p")
PLAIN, REASONING = OpenAIDialect(), OpenAIDialect("max_completion_tokens", accepts_temperature=False)


@table(
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


@table(
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


def write_for(session_id: str, writer: RequestWriter) -> dict[str, Any]:
    request = ModelRequest([Message("user", "Hello")], [], INFO, session_id=session_id)
    body: dict[str, Any] = json.loads(writer.write(request))
    return body


def test_requests_of_a_session_share_a_cache_key_that_does_not_name_it() -> None:
    writer = RequestWriter("gpt-5-mini", has_cache_key=True)
    keys = [write_for(name, writer)["prompt_cache_key"] for name in ("telegram:1", "telegram:1", "telegram:2")]
    assert keys[0] == keys[1] != keys[2]
    assert "telegram" not in keys[0]
    assert keys[0] != write_for("telegram:1", RequestWriter("gpt-5-mini", has_cache_key=True))["prompt_cache_key"]


def test_a_server_that_is_not_openais_gets_no_cache_key() -> None:
    assert "prompt_cache_key" not in write_for("s1", RequestWriter("small"))
    assert "s1" not in json.dumps(write_for("s1", RequestWriter("small")))


def test_equal_lists_of_tools_are_serialised_once() -> None:
    @tool(name="time.now")
    async def now() -> str:
        """Tell the time."""
        return ""

    cache = ToolJsonCache()
    assert cache.get_list_json([now, now]) is cache.get_list_json((now, now))


def test_what_the_next_request_repeats_comes_first() -> None:
    @tool(name="time.now")
    async def now() -> str:
        """Tell the time."""
        return ""

    writer, messages = RequestWriter("small"), [Message("user", "Hello")]
    first = writer.write(ModelRequest(messages, [now], INFO))
    second = writer.write(ModelRequest([*messages, Message("assistant", "Hi"), Message("user", "Bye")], [now], INFO))
    repeated = first[: first.index(b"],", first.index(b'"messages"'))]
    assert second.startswith(repeated)
