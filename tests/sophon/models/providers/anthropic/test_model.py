"""Anthropic's Messages API over real HTTP: what no other API has."""

import itertools
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    Overloaded,
    ProviderUnavailable,
    RateLimited,
    ResponseTooLarge,
)
from sophon.events import ModelAttempt
from sophon.messages import Message, Reasoning, ToolCall, Usage
from sophon.models.call_cost import worst_cost_micros
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.error_classification import QUOTA_COOLDOWN_SECONDS, classify_error
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.provider import Provider
from sophon.models.model import AttemptOutput, ModelInfo
from sophon.models.providers.anthropic.model import AnthropicModel, messages_url
from sophon.models.providers.anthropic.response import ResponseAccumulator
from sophon.models.providers.http.sse import SseDecoder
from sophon.models.reply_size import MAX_PIECES, ReplySize
from sophon.testing import EventRecorder, VirtualClock
from tests.tables import table


def sse(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n".encode()


def start(**usage: int) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": None}
    return sse("message_start", message=message | {"usage": usage or {"input_tokens": 25, "output_tokens": 1}})


def block(index: int, kind: str, **fields: Any) -> bytes:
    return sse("content_block_start", index=index, content_block={"type": kind, **fields})


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return sse("content_block_delta", index=index, delta={"type": kind, **fields})


def text(index: int, *pieces: str) -> bytes:
    deltas = b"".join(delta(index, "text_delta", text=piece) for piece in pieces)
    return block(index, "text", text="") + deltas + sse("content_block_stop", index=index)


def stop(reason: str | None = "end_turn", **usage: int) -> bytes:
    fields = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage or {"output_tokens": 15}}
    return sse("message_delta", **fields)


END = sse("message_stop")

RECORDED = b"".join(
    [
        start(input_tokens=25, output_tokens=1),
        block(0, "thinking", thinking="", signature=""),
        sse("ping"),
        delta(0, "thinking_delta", thinking="The time: "),
        delta(0, "thinking_delta", thinking="I ask 🐈."),
        delta(0, "signature_delta", signature="EqQB"),
        delta(0, "signature_delta", signature="CgIYAh=="),
        sse("content_block_stop", index=0),
        block(1, "redacted_thinking", data="Emwz"),
        sse("content_block_stop", index=1),
        text(2, "Grüße, ", "I look."),
        block(3, "tool_use", id="toolu_1", name="time_now", input={}),
        delta(3, "input_json_delta", partial_json=""),
        delta(3, "input_json_delta", partial_json='{"zone": "U'),
        delta(3, "input_json_delta", partial_json='TC"}'),
        sse("content_block_stop", index=3),
        block(4, "tool_use", id="toolu_2", name="time_now", input={}),
        delta(4, "input_json_delta", partial_json='{"zone": "CET"}'),
        sse("content_block_stop", index=4),
        sse("something_new", index=4),
        stop("tool_use", output_tokens=89),
        END,
    ]
)
"""A stream with everything that a round of tools brings, as the API's documentation shows it."""

THINKING = [
    {"type": "thinking", "thinking": "The time: I ask 🐈.", "signature": "EqQBCgIYAh=="},
    {"type": "redacted_thinking", "data": "Emwz"},
]


@pytest.fixture
async def model(server: Any) -> AsyncIterator[AnthropicModel]:
    made = AnthropicModel(ModelInfo("claude-sonnet-4-6", "anthropic", prices=(3.0, 15.0)), base_url=server.url)
    yield made
    await made.aclose()


def answer(server: Any, *pieces: bytes, status: int = 200, kind: str = "text/event-stream") -> None:
    """Let the server send bytes as they are; it notes the requests as they are, too."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"content-type": kind})
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    server.script.append(handle)


async def ask(model: AnthropicModel, kit: Any, **more: Any) -> Any:
    return await model.complete(kit.request(model, **({"on_text": lambda _: None} | more)))


async def failure(model: AnthropicModel, kit: Any, **more: Any) -> ModelError:
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
        ToolCall("toolu_1", "time.now", {"zone": "UTC"}),
        ToolCall("toolu_2", "time.now", {"zone": "CET"}),
    ]
    assert (response.finish_reason, response.usage) == ("tool_calls", Usage(25, 89))
    assert response.reasoning_fields["thinking_blocks"] == THINKING


def accumulate(pieces: Sequence[bytes]) -> ResponseAccumulator:
    decoder, reply = SseDecoder(), ResponseAccumulator()
    for piece in [*pieces, None]:
        for event in decoder.flush() if piece is None else decoder.feed(piece):
            reply.add_event(event)
    return reply


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, len(RECORDED)), max_size=12))
def test_a_stream_reads_the_same_wherever_the_network_cut_it(places: list[int]) -> None:
    borders = sorted({0, len(RECORDED), *places})
    pieces = [RECORDED[begin:end] for begin, end in itertools.pairwise(borders)]
    assert accumulate(pieces).to_response([]) == accumulate([RECORDED]).to_response([])


@given(st.integers(0, RECORDED.index(b'{"type": "message_stop"}')))
def test_a_stream_that_ends_before_its_last_event_is_never_an_answer(end: int) -> None:
    with pytest.raises(ProviderUnavailable):
        accumulate([RECORDED[:end]]).to_response([])


async def test_the_request_names_the_version_and_carries_the_key_in_its_own_header(
    model: Any, server: Any, kit: Any
) -> None:
    answer(server, start(), text(0, "Hi"), stop(), END)
    await ask(model, kit, key="sk-ant-one")
    seen = server.seen[0]
    assert (seen.path, seen.headers["anthropic-version"], seen.headers["x-api-key"]) == (
        "/v1/messages",
        "2023-06-01",
        "sk-ant-one",
    )
    assert "Authorization" not in seen.headers
    assert seen.body["model"] == "claude-sonnet-4-6"
    assert seen.body["stream"] is True


@table(
    ("base", "url"),
    [
        ("https://h", "https://h/v1/messages"),
        ("https://h/v1/", "https://h/v1/messages"),
        ("https://h/v1/messages", "https://h/v1/messages"),
        ("https://h/proxy?x=1", "https://h/proxy/v1/messages?x=1"),
    ],
)
def test_an_address_may_have_any_part_of_the_path(base: str, url: str) -> None:
    assert messages_url(base) == url


async def test_a_prefix_of_litellm_is_no_part_of_the_models_name(server: Any, kit: Any) -> None:
    model = AnthropicModel(ModelInfo("anthropic/claude-haiku-4-5", "a"), base_url=server.url)
    answer(server, start(), text(0, "Hi"), stop(), END)
    await ask(model, kit)
    await model.aclose()
    assert server.seen[0].body["model"] == "claude-haiku-4-5"


async def test_thinking_goes_back_unchanged_and_in_its_order(model: Any, server: Any, kit: Any) -> None:
    answer(server, RECORDED)
    answer(server, start(), text(0, "Noon"), stop(), END)
    tools = [kit.clock_tool()]
    first = await ask(model, kit, tools=tools)
    reasoning = Reasoning(first.reasoning, model.info.id, first.reasoning_fields)
    reply = Message("assistant", first.text, first.tool_calls, reasoning=Reasoning.from_json(reasoning.to_json()))
    results = [Message("tool", "12:00", tool_call_id=call.id) for call in first.tool_calls]
    await ask(model, kit, messages=[Message("user", "How late?"), reply, *results], tools=tools)
    assert server.seen[1].body["messages"][1] == {
        "role": "assistant",
        "content": [
            *THINKING,
            {"type": "text", "text": "Grüße, I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "time_now", "input": {"zone": "UTC"}},
            {"type": "tool_use", "id": "toolu_2", "name": "time_now", "input": {"zone": "CET"}},
        ],
    }


async def test_thinking_between_calls_keeps_its_place(model: Any, server: Any, kit: Any) -> None:
    thought = [
        block(index, "thinking", thinking="") + delta(index, "signature_delta", signature=f"s{index}")
        for index in range(4)
    ]
    calls = [block(index, "tool_use", id=f"t{index}", name="time_now", input={}) for index in range(4)]
    stream = [start(), thought[0], calls[1], thought[2], calls[3], stop("tool_use"), END]
    answer(server, *stream)
    answer(server, start(), text(0, "Noon"), stop(), END)
    first = await ask(model, kit)
    reasoning = Reasoning("", model.info.id, first.reasoning_fields)
    reply = Message("assistant", "", first.tool_calls, reasoning=reasoning)
    results = [Message("tool", "12:00", tool_call_id=call.id) for call in first.tool_calls]
    await ask(model, kit, messages=[Message("user", "How late?"), reply, *results])
    sent = server.seen[1].body["messages"][1]["content"]
    assert [each.get("signature") or each.get("id") for each in sent] == ["s0", "t1", "s2", "t3"]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "length"),
        ("a_new_reason", "stop"),
    ],
)
async def test_every_stop_reason_has_a_finish_reason(
    model: Any, server: Any, kit: Any, reason: str, finish: str
) -> None:
    answer(server, start(), text(0, "Once upon"), stop(reason), END)
    response = await ask(model, kit)
    assert (response.text, response.finish_reason) == ("Once upon", finish)


async def test_a_refusal_in_the_middle_is_an_error(model: Any, server: Any, kit: Any) -> None:
    answer(server, start(), text(0, "Mix the"), stop("refusal"), END)
    assert isinstance(await failure(model, kit), BadRequest)


async def test_a_call_that_the_limit_cut_off_is_malformed(model: Any, server: Any, kit: Any) -> None:
    call = block(0, "tool_use", id="t", name="time_now", input={})
    answer(server, start(), call, delta(0, "input_json_delta", partial_json='{"zone": "U'), stop("max_tokens"), END)
    response = await ask(model, kit, tools=[kit.clock_tool()])
    assert response.tool_calls[0].malformed is not None


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("api_error", ProviderUnavailable),
        ("timeout_error", ModelTimeout),
        ("authentication_error", AuthenticationFailed),
        ("permission_error", AuthenticationFailed),
        ("billing_error", RateLimited),
        ("invalid_request_error", BadRequest),
        ("request_too_large", ContextOverflow),
        ("a_new_error", ProviderUnavailable),
    ],
)
@pytest.mark.parametrize("is_begun", [False, True])
async def test_an_error_event_is_told_apart_by_its_type(
    model: Any, server: Any, kit: Any, kind: str, error: type[ModelError], is_begun: bool
) -> None:
    begun = [start(), text(0, "Good")] if is_begun else []
    answer(server, *begun, sse("error", error={"type": kind, "message": "It happened"}))
    heard: list[str] = []
    found = await failure(model, kit, on_text=heard.append)
    assert type(found) is error
    assert f"HTTP {found.status}: It happened ({kind})" in str(found)
    assert heard == (["Good"] if is_begun else [])


@pytest.mark.parametrize(
    ("status", "message", "error"),
    [
        (400, "prompt is too long: 208310 tokens > 200000 maximum", ContextOverflow),
        (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", ContextOverflow),
        (400, "Your credit balance is too low to access the Anthropic API.", RateLimited),
        (400, "You have reached your specified API usage limits.", RateLimited),
        (400, "messages: text content blocks must be non-empty", BadRequest),
        (401, "invalid x-api-key", AuthenticationFailed),
        (402, "billing", RateLimited),
        (404, "model: claude-9", BadRequest),
        (413, "Request exceeds the maximum size", ContextOverflow),
        (429, "This request would exceed your organization's rate limit", RateLimited),
        (529, "Overloaded", Overloaded),
    ],
)
async def test_an_error_response_is_told_apart(
    model: Any, server: Any, kit: Any, status: int, message: str, error: type[ModelError]
) -> None:
    server.answers({"type": "error", "error": {"type": "x", "message": message}}, status)
    found = await failure(model, kit)
    assert type(found) is error
    assert message in str(found)


async def test_an_empty_account_pauses_its_key_for_long(model: Any, server: Any, kit: Any) -> None:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}
    server.answers(body, 400)
    error = await failure(model, kit)
    assert error.retry_after == QUOTA_COOLDOWN_SECONDS


@pytest.mark.parametrize(
    "event",
    [
        b"data: {}\n\n",
        b"data: []\n\n",
        b"data: {{{\n\n",
        sse("content_block_delta", index=7, delta={"type": "text_delta", "text": "no such block"}),
        sse("content_block_delta", delta={}),
        sse("content_block_start", index=[1], content_block={"type": "text"}),
        block(0, "text", text="") * 2,
    ],
)
async def test_garbage_is_never_a_completed_answer(model: Any, server: Any, kit: Any, event: bytes) -> None:
    answer(server, start(), event)
    assert isinstance(await failure(model, kit), ProviderUnavailable)


async def test_what_is_unknown_is_passed_over(model: Any, server: Any, kit: Any) -> None:
    unknown = [
        block(0, "server_tool_use", id="srv", name="web_search", input={"query": "x"}),
        delta(0, "input_json_delta", partial_json="{}"),
        sse("content_block_stop", index=0),
        block(1, "text", text="", citations=[]),
        delta(1, "citations_delta", citation={"type": "char_location"}),
        delta(1, "text_delta", text="Hi", extra=1),
        b"data: {}\n\n: a comment\n\n",
    ]
    answer(server, start(), *unknown, stop(), END)
    response = await ask(model, kit)
    assert (response.text, response.tool_calls) == ("Hi", [])


async def test_more_blocks_than_a_reply_may_have_are_refused() -> None:
    reply = ResponseAccumulator(AttemptOutput(size=ReplySize(pieces=MAX_PIECES - 3)))
    reply.start_block(0, {"type": "unknown"})
    with pytest.raises(ResponseTooLarge, match="pieces"):
        reply.start_block(1, {"type": "unknown"})


async def test_the_parts_of_the_input_are_added_and_the_cached_ones_known(model: Any, server: Any, kit: Any) -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 3000}
    answer(server, start(**usage, output_tokens=1), text(0, "Hi"), stop(output_tokens=50), END)
    info = replace(model.info, cached_input_price=0.3)
    response = await model.complete(replace(kit.request(model, on_text=lambda _: None), model=info))
    # 10 at 3, 200 at 3.75, 3000 at 0.3 and 50 at 15 dollars a million
    assert response.usage == Usage(3210, 50, 30 + 750 + 900 + 750, cached_input_tokens=3000)


async def test_the_gateway_keeps_the_price_of_what_was_written(model: Any, server: Any, kit: Any) -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 200, "output_tokens": 1}
    answer(server, start(**usage), text(0, "Hi"), stop(output_tokens=50), END)
    gateway = ModelGateway([Provider("mine", [model])], clock=VirtualClock())
    response = await gateway.call(kit.request(model, on_text=lambda _: None), gateway.candidates())
    assert response.usage.cost_micros == 30 + 750 + 750
    assert worst_cost_micros(gateway.candidates()[0].info, 1000, 0) == 3750


async def test_the_usage_at_the_end_replaces_that_of_the_beginning(model: Any, server: Any, kit: Any) -> None:
    answer(server, start(input_tokens=5, output_tokens=2), text(0, "Hi"), stop(input_tokens=9, output_tokens=4), END)
    assert (await ask(model, kit)).usage == Usage(9, 4)


async def test_an_interrupted_stream_is_charged_for_what_it_wrote(model: Any, server: Any, kit: Any) -> None:
    for _ in range(4):
        answer(server, start(input_tokens=25, output_tokens=1), text(0, "word " * 400))
    clock, attempts = VirtualClock(), EventRecorder()
    gateway = ModelGateway([Provider("p", [model], keys=ApiKeyPool(("k",), clock))], clock=clock)
    with pytest.raises(ModelError):
        await gateway.call(kit.request(model, on_text=lambda _: None), gateway.candidates(), emit=attempts.emit)
    usage = attempts.of(ModelAttempt)[0].usage
    assert (usage.input_tokens, usage.output_tokens) == (25, gateway.tokens.count_text("word " * 400))


async def test_a_whole_message_in_place_of_a_stream_is_heard_in_one_piece(model: Any, server: Any, kit: Any) -> None:
    heard: list[str] = []
    content = [{"type": "text", "text": "Good"}, {"type": "text", "text": " day"}]
    server.answers({"type": "message", "content": content, "stop_reason": "end_turn", "usage": {}})
    response = await ask(model, kit, on_text=heard.append)
    assert (response.text, heard) == ("Good day", ["Good day"])
