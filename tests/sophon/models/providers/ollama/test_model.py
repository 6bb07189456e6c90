"""Ollama's chat API over real HTTP: what no other API has."""

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import BadRequest, ModelError, ProviderUnavailable
from sophon.messages import Message, Reasoning, ToolCall, Usage
from sophon.models.gateway.error_classification import classify_error
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.models.providers.bounded_response import find_body_limit, max_stream_bytes
from sophon.models.providers.http.json_lines import JsonLinesDecoder
from sophon.models.providers.ollama.model import OllamaModel, chat_url
from sophon.models.providers.ollama.request import OllamaOptions
from sophon.models.providers.ollama.response import ResponseAccumulator
from sophon.testing import VirtualClock
from tests.tables import table


def line(content: str = "", **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **more}
    body = {"model": "qwen3", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}
    return json.dumps(body, ensure_ascii=False).encode() + b"\n"


def done(reason: str = "stop", **more: Any) -> bytes:
    counts = more or {"total_duration": 5, "prompt_eval_count": 26, "eval_count": 298}
    body = {"model": "qwen3", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": reason}
    return json.dumps(body | counts).encode() + b"\n"


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


RECORDED = b"".join(
    [
        line(thinking="The time: "),
        line(thinking="I ask 🐈."),
        line("Grüße, "),
        line("I look."),
        line(tool_calls=[call("time_now", {"zone": "UTC"}), call("time_now", {"zone": "CET"}, id="call_2")]),
        done(),
    ]
)
"""A stream with everything that a round of tools brings, as the API's documentation shows it."""


@pytest.fixture
async def model(server: Any) -> AsyncIterator[OllamaModel]:
    made = OllamaModel(ModelInfo("qwen3", "ollama"), base_url=server.url)
    yield made
    await made.aclose()


def answer(server: Any, *pieces: bytes) -> None:
    """Let the server send bytes as they are; it notes the requests as they are, too."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "application/x-ndjson"})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    server.script.append(handle)


async def ask(model: OllamaModel, kit: Any, **more: Any) -> Any:
    return await model.complete(kit.request(model, **({"on_text": lambda _: None} | more)))


async def failure(model: OllamaModel, kit: Any, **more: Any) -> ModelError:
    with pytest.raises(Exception) as caught:
        await ask(model, kit, **more)
    error = classify_error(caught.value, "p", "m")
    assert isinstance(error, ModelError)
    return error


async def test_a_recorded_stream_gives_text_calls_reasoning_and_usage(model: Any, server: Any, kit: Any) -> None:
    answer(server, RECORDED)
    texts, reasoning = list[str](), list[str]()
    tools = [kit.clock_tool()]
    response = await ask(model, kit, tools=tools, on_text=texts.append, on_reasoning=reasoning.append)
    assert (response.text, "".join(texts)) == ("Grüße, I look.",) * 2
    assert (response.reasoning, "".join(reasoning)) == ("The time: I ask 🐈.",) * 2
    assert response.tool_calls == [
        ToolCall("", "time.now", {"zone": "UTC"}),
        ToolCall("call_2", "time.now", {"zone": "CET"}),
    ]
    assert (response.finish_reason, response.usage) == ("tool_calls", Usage(26, 298))


def accumulate(pieces: Sequence[bytes]) -> ResponseAccumulator:
    decoder, reply = JsonLinesDecoder(10_000), ResponseAccumulator()
    for piece in [*pieces, None]:
        for event in decoder.flush() if piece is None else decoder.feed(piece):
            reply.add_event(event)
    return reply


@given(st.lists(st.integers(0, len(RECORDED)), max_size=12))
def test_a_stream_reads_the_same_wherever_the_network_cut_it(places: list[int]) -> None:
    borders = sorted({0, len(RECORDED), *places})
    pieces = [RECORDED[begin:end] for begin, end in itertools.pairwise(borders)]
    read, whole = (accumulate(each).to_response([], is_streamed=True) for each in (pieces, [RECORDED]))
    assert read == whole


@given(st.integers(0, len(RECORDED) - 2))
def test_a_stream_that_ends_before_its_last_line_does_is_never_an_answer(end: int) -> None:
    with pytest.raises(ProviderUnavailable):
        accumulate([RECORDED[:end]]).to_response([], is_streamed=True)


async def test_a_whole_response_that_is_not_done_is_a_failure(model: Any, server: Any, kit: Any) -> None:
    server.answers({"message": {"role": "assistant", "content": "Good"}, "done": False})
    assert isinstance(await failure(model, kit, on_text=None), ProviderUnavailable)


async def test_a_request_has_the_options_of_the_server(server: Any, kit: Any) -> None:
    options = OllamaOptions(num_ctx=8192, keep_alive_seconds=90)
    model = OllamaModel(ModelInfo("qwen3", "ollama"), base_url=server.url, options=options)
    answer(server, line("Hi"), done())
    await ask(model, kit, max_tokens=99, temperature=0.5, key=None)
    await model.aclose()
    seen = server.seen[0]
    assert (seen.path, seen.body["stream"], seen.body["keep_alive"]) == ("/api/chat", True, "90s")
    assert seen.body["options"] == {"num_predict": 99, "num_ctx": 8192, "temperature": 0.5}
    assert "Authorization" not in seen.headers


async def test_a_transcript_names_the_tool_of_each_result(model: Any, server: Any, kit: Any) -> None:
    answer(server, line("Noon"), done())
    calls = [ToolCall("a", "time.now", {"zone": "UTC"}), ToolCall("b", "time.now", {"zone": "CET"})]
    thought = Reasoning("Hm", model.info.id, {"thinking": None})
    messages = [
        Message("system", "Be brief"),
        Message("user", "How late?"),
        Message("assistant", "", calls, reasoning=thought),
        Message("tool", "12", tool_call_id="a"),
        Message("tool", "13", tool_call_id="b"),
    ]
    await ask(model, kit, messages=messages, tools=[kit.clock_tool()])
    sent = server.seen[0].body["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant", "tool", "tool"]
    function = {"name": "time_now", "arguments": {"zone": "UTC"}}
    assert sent[2]["tool_calls"][0] == {"id": "a", "function": function}
    assert sent[2]["thinking"] == "Hm"
    assert sent[4] == {"role": "tool", "content": "13", "tool_name": "time_now", "tool_call_id": "b"}


async def test_where_no_tool_may_be_called_none_is_sent(model: Any, server: Any, kit: Any) -> None:
    answer(server, line("Hi"), done())
    await ask(model, kit, tools=[kit.clock_tool()], tool_choice="none")
    assert "tools" not in server.seen[0].body


async def test_a_model_that_is_not_installed_is_told_with_the_command(model: Any, server: Any, kit: Any) -> None:
    server.answers({"error": "model 'qwen3' not found"}, 404)
    error = await failure(model, kit)
    assert isinstance(error, BadRequest)
    assert f"{server.url}/api/chat has no model 'qwen3': run `ollama pull qwen3`" in str(error)


async def test_another_404_is_told_as_it_is(model: Any, server: Any, kit: Any) -> None:
    server.answers({"error": "no such page"}, 404)
    assert "HTTP 404: no such page" in str(await failure(model, kit))


async def test_a_model_without_tool_calls_is_told_with_the_setting(model: Any, server: Any, kit: Any) -> None:
    server.answers({"error": "registry.ollama.ai/library/gemma:2b does not support tools"}, 400)
    error = await failure(model, kit, tools=[kit.clock_tool()])
    assert isinstance(error, BadRequest)
    assert "set FunctionCalling of its provider to false" in str(error)


@pytest.mark.parametrize("garbage", [b"{}\n", b"[]\n", b"{{{\n", b"\xff\n", b'{"message": [1]}\n', b'{"message": 7}\n'])
async def test_garbage_is_never_a_completed_answer(model: Any, server: Any, kit: Any, garbage: bytes) -> None:
    answer(server, line("Good"), garbage)
    assert isinstance(await failure(model, kit), ProviderUnavailable)


async def test_an_input_that_was_cached_whole_is_estimated(model: Any, server: Any, kit: Any) -> None:
    answer(server, line("Hi"), done(eval_count=7))
    gateway = ModelGateway([Provider("p", [model])], clock=VirtualClock())
    request = kit.request(model, on_text=lambda _: None)
    usage = (await gateway.call(request, gateway.candidates())).usage
    assert (usage.input_tokens, usage.output_tokens) == (gateway.tokens.count_request(request), 7)


async def test_reasoning_between_tags_is_no_text(model: Any, server: Any, kit: Any) -> None:
    answer(server, line("<th"), line("ink>2 + 2</think>"), line("Four."), done())
    response = await ask(model, kit)
    assert (response.text, response.reasoning) == ("Four.", "2 + 2")


@table(
    ("base", "url"),
    [
        ("http://h:11434", "http://h:11434/api/chat"),
        ("http://h/v1/", "http://h/api/chat"),
        ("http://h/api", "http://h/api/chat"),
        ("http://h/api/chat", "http://h/api/chat"),
        ("http://h/ollama?x=1", "http://h/ollama/api/chat?x=1"),
    ],
)
def test_an_address_may_be_that_of_another_api_of_the_server(base: str, url: str) -> None:
    assert chat_url(base) == url


def test_a_stream_of_lines_has_the_limit_of_a_stream() -> None:
    headers = {"content-type": "application/x-ndjson; charset=utf-8"}
    assert find_body_limit(200, headers, 1000) == max_stream_bytes(1000)
