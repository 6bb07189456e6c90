"""Providers with an OpenAI-compatible API of their own: each is called without litellm, in the form that it takes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sophon.documents import Document
from sophon.errors import SettingsError
from sophon.images import image_from_bytes, image_from_url
from sophon.messages import Message, Reasoning, ToolCall
from sophon.models.providers.discovery import discover_providers
from sophon.models.providers.provider_factory import create_providers
from sophon.models.providers.provider_types import COMPATIBLE_URLS, to_wire_model
from sophon.settings import Settings
from sophon.testing import VirtualClock
from sophon.tools.tool import Tool, tool
from tests.sophon.models.dialects import OpenAI
from tests.tables import table

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}
SIGNED = {"extra_content": {"google": {"thought_signature": "c2ln"}}}


def model_of(kind: str, name: str = "m", *, url: str | None = None, environment: Mapping[str, str] = NOBODY) -> Any:
    address = {} if url is None else {"BaseUrl": url}
    given = {"Id": "p", "Type": kind, "Models": [name], "Keys": ["k"], **address}
    settings = Settings.from_mapping({"Providers": [given]})
    [provider] = create_providers(settings, environment=environment, clock=VirtualClock(), folder=Path())
    return provider.models[0]


@pytest.mark.parametrize("kind", sorted(COMPATIBLE_URLS))
async def test_a_provider_is_called_as_openai_is(kind: str, server: Any, kit: Any) -> None:
    server.dialect = OpenAI()
    server.says("Good day")
    model = model_of(kind, url=f"{server.url}/v1")
    response = await model.complete(kit.request(model))
    await model.aclose()
    assert (response.text, server.seen[0].path, server.seen[0].key) == ("Good day", "/v1/chat/completions", "sk-one")


@pytest.mark.parametrize("kind", sorted(COMPATIBLE_URLS))
async def test_a_stream_has_no_field_that_its_provider_rejects(kind: str, server: Any, kit: Any) -> None:
    server.streams("Good", " day", kit.stop, kit.usage)
    model = model_of(kind, url=f"{server.url}/v1")
    pieces: list[str] = []
    response = await model.complete(kit.request(model, on_text=pieces.append))
    await model.aclose()
    assert (response.text, "".join(pieces), response.usage.input_tokens) == ("Good day", "Good day", 11)
    asks = kind not in {"gemini", "mistral", "perplexity", "cerebras"}
    assert ("stream_options" in server.seen[0].body) is asks


@table(
    ("kind", "name", "wire"),
    [
        ("groq", "groq/llama-4", "llama-4"),
        ("groq", "groq/compound", "groq/compound"),
        ("groq", "openai/gpt-oss-120b", "openai/gpt-oss-120b"),
        ("openrouter", "openrouter/auto", "openrouter/auto"),
        ("openrouter", "openrouter/openai/gpt-5", "openai/gpt-5"),
        ("openai_compatible", "openai_compatible/m", "openai_compatible/m"),
    ],
)
def test_the_prefix_of_a_name_is_for_us(kind: str, name: str, wire: str) -> None:
    assert to_wire_model(kind, name) == wire


def strict_tool() -> Tool:
    @tool(name="note.write")
    async def write(text: str) -> str:
        """Write a note."""
        return text

    return write


@pytest.mark.parametrize("kind", ["gemini", "mistral"])
async def test_a_schema_has_no_keyword_that_its_provider_rejects(kind: str, server: Any, kit: Any) -> None:
    server.says("Done")
    model = model_of(kind, url=f"{server.url}/v1")
    await model.complete(kit.request(model, tools=[strict_tool()]))
    await model.aclose()
    assert "additionalProperties" not in json.dumps(server.seen[0].body["tools"])


async def answered(server: Any, kit: Any, model: Any, messages: Sequence[Message]) -> dict[str, Any]:
    """The message with the tool call, as the provider gets it back."""
    server.says("Done")
    await model.complete(kit.request(model, messages=messages))
    found: dict[str, Any] = next(each for each in server.seen[-1].body["messages"] if each.get("tool_calls"))
    return found


async def test_gemini_gets_the_signature_of_its_calls_back(server: Any, kit: Any) -> None:
    model = model_of("gemini", url=f"{server.url}/v1")
    calls = kit.tool_calls(("a", "time_now", "{}"), ("b", "time_now", "{}"))
    server.says(None, tool_calls=[calls[0] | SIGNED, calls[1]])
    response = await model.complete(kit.request(model))
    asked = Message("assistant", "", tool_calls=list(response.tool_calls))
    asked = with_reasoning(asked, model.info.id, response.reasoning_fields)
    results = [Message("tool", "12:00", tool_call_id=call.id) for call in response.tool_calls]
    seen = await answered(server, kit, model, [Message("user", "Hello"), asked, *results])
    await model.aclose()
    assert [each.get("extra_content") for each in seen["tool_calls"]] == [SIGNED["extra_content"], None]
    assert "call_fields" not in seen


async def test_a_signature_in_a_stream_is_kept(server: Any, kit: Any) -> None:
    model = model_of("gemini", url=f"{server.url}/v1")
    [call] = kit.tool_calls(("a", "time_now", "{}"))
    server.streams(kit.chunk(tool_calls=[call | SIGNED | {"index": 0}]), kit.chunk("tool_calls"), kit.usage)
    heard: list[str] = []
    response = await model.complete(kit.request(model, on_text=heard.append))
    await model.aclose()
    assert response.reasoning_fields == {"call_fields": [SIGNED]}


PNG = b"\x89PNG\r\n\x1a\n"
WITH_FILES = Message(
    "user",
    "Compare them",
    images=(image_from_bytes(PNG), image_from_url("https://example.com/cat.png")),
    documents=(Document("JVBERi0=", "application/pdf", "report.pdf", 5),),
)
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
PDF_URL = "data:application/pdf;base64,JVBERi0="


async def sent_content(kind: str, server: Any, kit: Any, *capabilities: str) -> Any:
    """What the provider gets of a message with files, which is not its last one."""
    server.says("Done")
    model = model_of(kind, url=f"{server.url}/v1")
    messages = [WITH_FILES, Message("assistant", "Done"), Message("user", "And?")]
    able = replace(model.info, capabilities=frozenset(capabilities))
    await model.complete(replace(kit.request(model, messages=messages), model=able))
    await model.aclose()
    return server.seen[0].body["messages"][0]["content"]


async def test_gemini_gets_a_pdf_as_an_image_and_no_address(server: Any, kit: Any) -> None:
    text, *files = await sent_content("gemini", server, kit, "vision", "pdf_input")
    assert files == [PNG_PART, {"type": "image_url", "image_url": {"url": PDF_URL}}]
    named = "[Image: https://example.com/cat.png; it is not shown to this model]"
    assert text == {"type": "text", "text": f"Compare them\n{named}"}


async def test_gemini_reads_the_names_of_files_that_its_model_cannot_take(server: Any, kit: Any) -> None:
    content = await sent_content("gemini", server, kit)
    assert isinstance(content, str)
    assert "report.pdf" in content
    assert "https://example.com/cat.png" in content


@pytest.mark.parametrize("kind", ["mistral", "openrouter"])
async def test_others_get_files_as_openai_does(kind: str, server: Any, kit: Any) -> None:
    _, *files = await sent_content(kind, server, kit, "vision", "pdf_input")
    address = {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}
    assert files == [PNG_PART, address, {"type": "file", "file": {"filename": "report.pdf", "file_data": PDF_URL}}]


def with_reasoning(message: Message, model: str, fields: Mapping[str, Any], text: str = "") -> Message:
    return replace(message, reasoning=Reasoning(text, model, fields))


CALLED = Message("assistant", "", tool_calls=[ToolCall("a", "time.now", {})])
RESULT = Message("tool", "12:00", tool_call_id="a")


async def test_mistral_gets_no_reasoning_back(server: Any, kit: Any) -> None:
    model = model_of("mistral", url=f"{server.url}/v1")
    own = with_reasoning(CALLED, model.info.id, {"reasoning_content": None}, "hm")
    seen = await answered(server, kit, model, [Message("user", "Hello"), own, RESULT])
    await model.aclose()
    assert "reasoning_content" not in seen


@pytest.mark.parametrize(("kind", "name"), [("moonshot", "kimi-k3"), ("deepseek", "deepseek-v4-pro")])
async def test_each_reply_of_a_turn_with_calls_has_some_reasoning(kind: str, name: str, server: Any, kit: Any) -> None:
    model = model_of(kind, name, url=f"{server.url}/v1")
    assert "reasoning" in model.info.capabilities
    plain = [Message("user", "Hello"), Message("assistant", "Hi")]
    called = [Message("user", "Time?"), CALLED, RESULT, Message("assistant", "Noon"), Message("user", "Thanks")]
    await answered(server, kit, model, [*plain, *called])
    await model.aclose()
    replies = [each for each in server.seen[0].body["messages"] if each["role"] == "assistant"]
    assert [each.get("reasoning_content") for each in replies] == [None, " ", " "]


async def test_mistrals_thoughts_are_no_part_of_its_text(server: Any, kit: Any) -> None:
    model = model_of("mistral", url=f"{server.url}/v1")
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    server.answers(kit.whole({"role": "assistant", "content": [thought, {"type": "text", "text": "Hi"}]}))
    response = await model.complete(kit.request(model))
    await model.aclose()
    assert (response.text, response.reasoning) == ("Hi", "hm")


@pytest.mark.parametrize(("kind", "output"), [("xai", 27), ("gemini", 27), ("groq", 7)])
async def test_reasoning_that_is_counted_apart_is_output(kind: str, output: int, server: Any, kit: Any) -> None:
    model = model_of(kind, url=f"{server.url}/v1")
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 38}
    server.answers(kit.whole({"role": "assistant", "content": "Hi"}, usage=usage))
    response = await model.complete(kit.request(model))
    await model.aclose()
    assert response.usage.output_tokens == output


async def test_another_address_is_taken_from_the_variable_that_litellm_reads(server: Any, kit: Any) -> None:
    model = model_of("together", environment={**NOBODY, "TOGETHER_AI_API_BASE": f"{server.url}/proxy"})
    server.says("Hi")
    await model.complete(kit.request(model))
    await model.aclose()
    assert server.seen[0].path == "/proxy/chat/completions"


@pytest.fixture
def without_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("discovery", "provider_factory"):
        monkeypatch.setattr(f"sophon.models.providers.{place}.is_litellm_installed", lambda: False)


@pytest.mark.usefixtures("without_litellm")
@pytest.mark.parametrize("kind", ["bedrock", "litellm", "cohere"])
def test_a_type_that_litellm_alone_serves_says_so(kind: str) -> None:
    with pytest.raises(SettingsError) as caught:
        model_of(kind)
    [problem] = caught.value.problems
    assert problem == f'Providers[0].Type: litellm alone serves {kind!r}: pip install "sophon-agents[litellm]"'


@pytest.mark.usefixtures("without_litellm")
def test_a_key_that_only_litellm_can_use_is_passed_over_and_named() -> None:
    keys = {"COHERE_API_KEY": "c"}
    [found] = discover_providers({**NOBODY, **keys})
    assert found.provider_id == "offline"
    assert found.reason.startswith('COHERE_API_KEY needs litellm (pip install "sophon-agents[litellm]"), and no Ollama')
    assert [each.provider_id for each in discover_providers({**keys, "GROQ_API_KEY": "g"})] == ["groq"]
