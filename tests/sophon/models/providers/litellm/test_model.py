"""What only the litellm adapter does: other wires than OpenAI's, and a library that keeps to itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from sophon.errors import ProviderUnavailable
from sophon.messages import Message, Reasoning, ToolCall, Usage
from sophon.models.gateway.error_classification import classify_error
from sophon.models.model import ModelInfo
from sophon.models.providers.litellm.model import LiteLLMModel

ROOT = Path(__file__).parents[5]


@pytest.fixture
async def claude(server: Any) -> Any:
    info = ModelInfo("claude-haiku-4-5", "anthropic")
    model = LiteLLMModel(info, litellm_name="anthropic/claude-haiku-4-5", base_url=server.url)
    yield model
    await model.aclose()


def anthropic_answer() -> dict[str, Any]:
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [
            {"type": "text", "text": "One moment."},
            {"type": "tool_use", "id": "t1", "name": "time_now", "input": {"zone": "UTC"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 20, "output_tokens": 9, "cache_read_input_tokens": 5},
    }


def anthropic_events(*events: dict[str, Any]) -> list[bytes]:
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]


async def test_anthropics_own_wire_is_spoken(claude: Any, server: Any, kit: Any) -> None:
    server.answers(anthropic_answer())
    call = ToolCall("t0", "time.now", {"zone": "CET"})
    messages = [
        Message("system", "Be brief"),
        Message("user", "How late is it?"),
        Message("assistant", "", [call]),
        Message("tool", "noon", tool_call_id="t0"),
    ]
    response = await claude.complete(kit.request(claude, messages=messages, tools=[kit.clock_tool()]))
    seen = server.seen[0]
    assert (seen.path, seen.headers["x-api-key"]) == ("/v1/messages", "sk-one")
    assert seen.body["tools"][0]["name"] == "time_now"
    assert response.text == "One moment."
    assert response.tool_calls == [ToolCall("t1", "time.now", {"zone": "UTC"})]
    assert response.usage == Usage(25, 9, cached_input_tokens=5)


async def test_anthropics_stream_is_heard_as_it_comes(claude: Any, server: Any, kit: Any) -> None:
    heard: list[str] = []
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "c", "content": [], "stop_reason": None}
    pieces = anthropic_events(
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 20, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "One "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "moment."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    )
    server.streams(*pieces, end="close")
    response = await claude.complete(kit.request(claude, on_text=heard.append))
    assert heard == ["One ", "moment."]
    assert (response.text, response.finish_reason) == ("One moment.", "stop")
    assert response.usage == Usage(20, 9)


THINKING = {"type": "thinking", "thinking": "I need the time", "signature": "signed"}


@pytest.mark.parametrize("is_streamed", [True, False])
async def test_claudes_signed_thinking_returns_unchanged_with_the_results(
    claude: Any, server: Any, kit: Any, *, is_streamed: bool
) -> None:
    tool_use = {"type": "tool_use", "id": "t1", "name": "time_now", "input": {"zone": "UTC"}}
    if is_streamed:
        server.streams(*anthropic_events(*thinking_events()), end="close")
    else:
        server.answers({**anthropic_answer(), "content": [THINKING, tool_use]})
    server.answers(anthropic_answer())
    heard: list[str] = []
    options = {"on_text": lambda _: None, "on_reasoning": heard.append} if is_streamed else {}
    tools = [kit.clock_tool()]
    first = await claude.complete(kit.request(claude, tools=tools, **options))
    assert first.reasoning == "I need the time"
    assert "".join(heard) == (first.reasoning if is_streamed else "")
    reasoning = Reasoning(first.reasoning, claude.info.id, first.reasoning_fields)
    asked = [Message("user", "How late?"), Message("assistant", "", first.tool_calls, reasoning=reasoning)]
    messages = [*asked, Message("tool", "12", tool_call_id="t1")]
    await claude.complete(kit.request(claude, messages=messages, tools=tools))
    assert server.seen[1].body["messages"][1]["content"][0] == THINKING


def thinking_events() -> list[dict[str, Any]]:
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "c", "content": [], "stop_reason": None}
    block = {"type": "tool_use", "id": "t1", "name": "time_now", "input": {}}

    def delta(index: int, **fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    return [
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 20, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        delta(0, type="thinking_delta", thinking="I need "),
        delta(0, type="thinking_delta", thinking="the time"),
        delta(0, type="signature_delta", signature="signed"),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": block},
        delta(1, type="input_json_delta", partial_json='{"zone": "UTC"}'),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


async def test_anthropics_stream_that_is_cut_is_no_short_answer(claude: Any, server: Any, kit: Any) -> None:
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "c", "content": [], "stop_reason": None}
    pieces = anthropic_events(
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 20, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "One "}},
    )
    server.streams(*pieces, end="close")
    with pytest.raises(Exception, match="cut off") as caught:
        await claude.complete(kit.request(claude, on_text=lambda _: None))
    assert isinstance(classify_error(caught.value, "p", "m"), ProviderUnavailable)


async def test_anthropics_refusals_keep_their_status_and_their_wait(claude: Any, server: Any, kit: Any) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
        return web.json_response(body, status=429, headers={"retry-after": "9"})

    server.script.append(answer)
    with pytest.raises(Exception) as caught:
        await claude.complete(kit.request(claude))
    assert caught.value.status_code == 429
    assert caught.value.retry_after == "9"


QUIET = """
import asyncio, sys
strangers = []

def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        host = arguments[1][0] if event == "socket.connect" and isinstance(arguments[1], tuple) else arguments[0]
        if host not in ("127.0.0.1", None):
            strangers.append((event, str(host)))

sys.addaudithook(watch)
from sophon.messages import Message
from sophon.models.providers.litellm.model import LiteLLMModel
from sophon.models.model import ModelInfo, ModelRequest

assert "litellm" not in sys.modules and "httpx" not in sys.modules
CHUNK = b'{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s}]}'
LAST = CHUNK.replace(b'}]}', b',"finish_reason":"stop"}]}') % b'{}'
DATA = b"data: " + CHUNK % b'{"content":"Hi"}' + b"\\n\\ndata: " + LAST + b"\\n\\ndata: [DONE]\\n\\n"

async def serve(reader, writer):
    head = await reader.readuntil(b"\\r\\n\\r\\n")
    await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\\r")[0]))
    writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\nconnection: close\\r\\n\\r\\n" + DATA)
    await writer.drain()
    writer.close()

async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    info = ModelInfo("m", "p")
    model = LiteLLMModel(info, litellm_name="openai/m", base_url=f"http://127.0.0.1:{port}/v1")
    request = ModelRequest([Message("user", "Hello")], [], info, on_text=lambda text: None, key="k")
    print((await model.complete(request)).text)
    await model.aclose()
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and "serve" not in repr(task)]
    # What it still writes down of the call ends by itself.
    _, pending = await asyncio.wait(left, timeout=30) if left else ((), ())
    print(len(pending), *pending)
    server.close()

asyncio.run(main())
print(strangers)
"""


def test_litellm_asks_nobody_but_its_provider_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SOPHON_STRAY=1\n")
    script = QUIET + "\nimport os\nprint(os.environ.get('SOPHON_STRAY'))\n"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    text, left, strangers, stray = ran.stdout.splitlines()
    assert (text, strangers, stray) == ("Hi", "[]", "None"), ran
    assert left.startswith("0"), left
    assert ran.stderr == ""
