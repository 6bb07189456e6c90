"""What all adapters to real providers have to do, over real HTTP."""

import asyncio
from typing import Any

import pytest

from sophon.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ModelError,
    ModelTimeout,
    ProviderUnavailable,
    RateLimited,
)
from sophon.messages import Message, Reasoning, ToolCall, Usage
from sophon.models.gateway.error_classification import classify_error
from tests.loop_time import LoopTime


def reported(adapters: Any) -> Usage:
    """The usage that the server reports; Ollama says nothing about its cache."""
    return Usage(11, 7, cached_input_tokens=0 if adapters.kind == "ollama" else 4)


async def failure(model: Any, request: Any) -> ModelError:
    """What the gateway would make of the error."""
    with pytest.raises(Exception) as caught:
        await model.complete(request)
    error = classify_error(caught.value, "p", "small")
    assert isinstance(error, ModelError)
    return error


async def test_a_plain_answer_comes_with_its_usage(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.says("Good day")
    response = await model.complete(kit.request(model))
    assert (response.text, response.finish_reason) == ("Good day", "stop")
    assert response.usage == reported(adapters)


async def test_the_request_carries_model_messages_limit_and_key(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.says("Good day")
    await model.complete(kit.request(model, "Hello", max_tokens=99))
    seen = server.seen[0]
    assert seen.path == server.dialect.path
    assert seen.key == "sk-one"
    assert seen.body["model"] == "small"
    assert seen.body["messages"] == [{"role": "user", "content": "Hello"}]
    assert seen.body["max_tokens"] == 99
    assert "tools" not in seen.body
    assert not seen.body.get("stream")


async def test_the_output_limit_is_never_more_than_the_model_can_write(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server, max_output_tokens=50)
    server.says("Good day")
    await model.complete(kit.request(model, max_tokens=4096))
    assert server.seen[0].body["max_tokens"] == 50


async def test_a_transcript_with_calls_and_results_keeps_its_shape(adapters: Any, server: Any, kit: Any) -> None:
    model, now = await adapters.at(server), kit.clock_tool()
    call = ToolCall("call-1", "time.now", {"zone": "UTC"})
    messages = [
        Message("system", "Be brief"),
        Message("user", "How late is it?"),
        Message("assistant", "", [call]),
        Message("tool", "noon", tool_call_id="call-1"),
    ]
    server.says("Noon")
    await model.complete(kit.request(model, messages=messages, tools=[now]))
    sent = server.seen[0].body["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    function = {"name": "time_now", "arguments": '{"zone":"UTC"}'}
    assert sent[2]["tool_calls"] == [{"id": "call-1", "type": "function", "function": function}]
    assert (sent[3]["tool_call_id"], sent[3]["content"]) == ("call-1", "noon")


async def test_a_tools_name_is_mapped_both_ways(adapters: Any, server: Any, kit: Any) -> None:
    model, now = await adapters.at(server), kit.clock_tool()
    server.says(None, tool_calls=kit.tool_calls(("a", "time_now", '{"zone": "UTC"}')))
    response = await model.complete(kit.request(model, tools=[now]))
    offered = server.seen[0].body
    assert offered["tools"][0]["function"]["name"] == "time_now"
    assert offered["tools"][0]["function"]["parameters"]["required"] == ["zone"]
    assert offered["tool_choice"] == "auto"
    assert response.tool_calls == [ToolCall("a", "time.now", {"zone": "UTC"})]
    assert response.finish_reason == "tool_calls"


async def test_a_model_without_function_calling_is_sent_no_tools(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server, function_calling=False)
    server.says("Good day")
    await model.complete(kit.request(model, tools=[kit.clock_tool()]))
    assert not {"tools", "tool_choice"} & set(server.seen[0].body)


@pytest.mark.parametrize(
    ("arguments", "read", "malformed"),
    [
        ("", {}, False),
        ("null", {}, False),
        ('{"zone": "UTC"', {}, True),
        ("[1, 2]", {}, True),
        ('{"zone": "a\nb"}', {"zone": "a\nb"}, False),
    ],
)
async def test_arguments_that_cannot_be_read_make_a_malformed_call(
    adapters: Any, server: Any, kit: Any, arguments: str, read: dict[str, Any], malformed: bool
) -> None:
    model = await adapters.at(server)
    server.says(None, tool_calls=kit.tool_calls(("a", "time_now", arguments)))
    response = await model.complete(kit.request(model, tools=[kit.clock_tool()]))
    (call,) = response.tool_calls
    assert (call.name, dict(call.arguments)) == ("time.now", read)
    assert (call.malformed is not None) is malformed


async def test_text_is_heard_as_it_comes(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server), []
    server.streams(kit.chunk(role="assistant", content=""), "Good", " day", kit.stop, kit.usage)
    response = await model.complete(kit.request(model, on_text=heard.append))
    assert "".join(heard) == "Good day"
    assert (response.text, response.usage) == ("Good day", reported(adapters))
    assert server.seen[0].body["stream"] is True


async def test_a_stream_is_asked_for_its_usage(openai_adapters: Any, server: Any, kit: Any) -> None:
    model = await openai_adapters.at(server)
    server.streams("Good day", kit.stop, kit.usage)
    await model.complete(kit.request(model, on_text=lambda _: None))
    assert server.seen[0].body["stream_options"] == {"include_usage": True}


async def test_a_model_that_cannot_stream_is_asked_for_a_whole_answer(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server, streaming=False), []
    server.says("Good day")
    response = await model.complete(kit.request(model, on_text=heard.append))
    assert (response.text, heard) == ("Good day", [])
    assert not server.seen[0].body.get("stream")


async def test_several_calls_streamed_in_pieces_are_put_together(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server), []
    server.streams(
        kit.call_piece(0, "", "time_now", "a"),
        kit.call_piece(0, '{"zo'),
        kit.call_piece(1, '{"zone": ', "time_now", "b"),
        kit.call_piece(0, 'ne": "UTC"}'),
        kit.call_piece(1, '"CET"}'),
        kit.chunk(finish="tool_calls"),
        kit.usage,
    )
    response = await model.complete(kit.request(model, tools=[kit.clock_tool()], on_text=heard.append))
    assert response.tool_calls == [
        ToolCall("a", "time.now", {"zone": "UTC"}),
        ToolCall("b", "time.now", {"zone": "CET"}),
    ]
    assert (response.finish_reason, heard) == ("tool_calls", [])


@pytest.mark.parametrize("stream", [False, True])
async def test_calls_that_share_an_id_stay_two_calls(adapters: Any, server: Any, kit: Any, stream: bool) -> None:
    model, heard = await adapters.at(server), []
    if stream:
        server.streams(
            kit.call_piece(0, '{"zone": "UTC"}', "time_now", "a"),
            kit.call_piece(1, '{"zone": ', "time_now", "a"),
            kit.call_piece(1, '"CET"}'),
            kit.chunk(finish="tool_calls"),
            kit.usage,
        )
    else:
        calls = [("a", "time_now", '{"zone": "UTC"}'), ("a", "time_now", '{"zone": "CET"}')]
        server.says(None, tool_calls=kit.tool_calls(*calls))
    on_text = heard.append if stream else None
    response = await model.complete(kit.request(model, tools=[kit.clock_tool()], on_text=on_text))
    assert [(call.arguments, call.malformed) for call in response.tool_calls] == [
        ({"zone": "UTC"}, None),
        ({"zone": "CET"}, None),
    ]


async def test_an_empty_message_of_an_old_session_is_not_sent(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.says("yes")
    history = [Message("user", "hi"), Message("assistant", " "), Message("user", "there?")]
    await model.complete(kit.request(model, messages=history))
    assert [each["content"] for each in server.seen[0].body["messages"]] == ["hi\n\nthere?"]


async def test_unknown_fields_and_comments_are_passed_over(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    odd = {"choices": [{"index": 0, "delta": {"content": "Hi", "mood": "good"}, "finish_reason": None, "x": {"y": 1}}]}
    server.streams(b": keep-alive\n\n", {**odd, "weather": [1, 2]}, kit.stop)
    response = await model.complete(kit.request(model, on_text=lambda _: None))
    assert response.text == "Hi"


async def test_an_answer_at_its_limit_says_so(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.streams("Once upon", kit.chunk(finish="length"))
    response = await model.complete(kit.request(model, on_text=lambda _: None))
    assert (response.text, response.finish_reason) == ("Once upon", "length")


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "unknown parameter", BadRequest),
        (400, "This model's maximum context length is 8192 tokens", ContextOverflow),
        (401, "Incorrect API key", AuthenticationFailed),
        (403, "no access", AuthenticationFailed),
        (429, "Rate limit reached", RateLimited),
        (500, "internal", ProviderUnavailable),
        (503, "unavailable", ProviderUnavailable),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_is_told_apart_by_its_status(
    adapters: Any, server: Any, kit: Any, status: int, message: str, kind: type[ModelError], stream: bool
) -> None:
    model = await adapters.at(server)
    server.refuses(status, message)
    error = await failure(model, kit.request(model, on_text=(lambda _: None) if stream else None))
    assert type(error) is kind
    assert error.status == status
    assert message in str(error)
    assert len(server.seen) == 1, "retries are the gateway's"


async def test_a_connection_cut_in_mid_stream_is_no_short_answer(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server), []
    server.streams("Good", end="cut")
    error = await failure(model, kit.request(model, on_text=heard.append))
    assert (type(error), heard) == (ProviderUnavailable, ["Good"])
    if adapters.kind != "litellm":  # which has sentences of its own
        assert str(error).startswith("the response was cut off: the connection to http://127.0.0.1:")
        assert str(error).endswith(" closed before its end")


async def test_a_stream_that_ends_without_a_finish_reason_is_no_short_answer(
    adapters: Any, server: Any, kit: Any
) -> None:
    model, heard = await adapters.at(server), []
    server.streams("Good", end="close")
    error = await failure(model, kit.request(model, on_text=heard.append))
    assert (type(error), heard) == (ProviderUnavailable, ["Good"])


@pytest.mark.parametrize("end", ["close", "cut"])
async def test_a_stream_without_the_mark_at_its_end_is_complete(
    openai_adapters: Any, server: Any, kit: Any, end: str
) -> None:
    model = await openai_adapters.at(server)
    server.streams("Good", kit.stop, end=end)
    assert (await model.complete(kit.request(model, on_text=lambda _: None))).text == "Good"


async def test_a_stream_that_is_no_json_is_an_error(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.streams("Good", b"data: {{{{\n\n", kit.stop)
    with pytest.raises(Exception) as caught:
        await model.complete(kit.request(model, on_text=lambda _: None))
    assert isinstance(classify_error(caught.value, "p", "small"), ModelError)


async def test_an_error_told_in_mid_stream_is_an_error(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.streams("Good", b'data: {"error": {"message": "the engine broke", "code": 500}}\n\n')
    error = await failure(model, kit.request(model, on_text=lambda _: None))
    assert isinstance(error, ProviderUnavailable)
    assert "the engine broke" in str(error)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_slow_first_byte_ends_in_a_timeout(adapters: Any, server: Any, kit: Any, stream: bool) -> None:
    model = await adapters.at(server)
    server.hangs()
    with LoopTime() as server.time:
        error = await failure(model, kit.request(model, on_text=(lambda _: None) if stream else None))
    assert isinstance(error, ModelTimeout)
    await server.left()


async def test_a_stream_that_falls_silent_ends_in_a_timeout(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server), []
    server.streams("Good", end="hang")
    with LoopTime() as server.time:
        error = await failure(model, kit.request(model, on_text=heard.append))
    assert (type(error), heard) == (ModelTimeout, ["Good"])


async def test_cancelling_in_mid_stream_closes_the_connection(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server), asyncio.Event()
    server.streams("Good", end="hang")
    task = asyncio.create_task(model.complete(kit.request(model, on_text=lambda _: heard.set())))
    await heard.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.left()


async def test_what_a_listener_raises_leaves_as_itself(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)

    def refuse(_: str) -> None:
        raise LookupError("not this one")

    server.streams("Good", end="hang")
    with pytest.raises(LookupError, match="not this one"):
        await model.complete(kit.request(model, on_text=refuse))
    await server.left()


async def test_nobody_listening_is_a_provider_that_is_not_there(adapters: Any, serve: Any, kit: Any) -> None:
    closed = await serve()
    closed.url = "http://127.0.0.1:9"
    model = await adapters.at(closed)
    assert isinstance(await failure(model, kit.request(model)), ProviderUnavailable)


async def test_half_of_a_surrogate_pair_does_not_stop_a_request(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.says("Good day")
    assert (await model.complete(kit.request(model, "cut \ud83d off"))).text == "Good day"


async def test_a_closed_model_can_be_asked_again(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    for _ in range(2):
        server.says("Good day")
        assert (await model.complete(kit.request(model))).text == "Good day"
        await model.aclose()


async def test_reasoning_of_a_whole_response_is_no_text(adapters: Any, server: Any, kit: Any) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 6}}
    server.answers(kit.whole({"role": "assistant", "content": "Four.", "reasoning_content": "2 + 2"}, usage=usage))
    model = await adapters.at(server)
    response = await model.complete(kit.request(model))
    assert (response.text, response.reasoning) == ("Four.", "2 + 2")
    assert response.usage.reasoning_tokens == (0 if adapters.kind == "ollama" else 6)


async def test_reasoning_is_streamed_apart_from_the_text(adapters: Any, server: Any, kit: Any) -> None:
    pieces = [kit.chunk(reasoning_content="2 "), kit.chunk(reasoning_content="+ 2"), "Fo", "ur."]
    server.streams(*pieces, kit.stop)
    model, text, reasoning = await adapters.at(server), list[str](), list[str]()
    response = await model.complete(kit.request(model, on_text=text.append, on_reasoning=reasoning.append))
    assert ("".join(text), "".join(reasoning)) == ("Four.", "2 + 2")
    assert (response.text, response.reasoning) == ("Four.", "2 + 2")


async def test_reasoning_returns_with_the_results_of_its_calls(adapters: Any, server: Any, kit: Any) -> None:
    server.says(None, reasoning_content="I need the time", tool_calls=kit.tool_calls(("c", "time_now", "{}")))
    server.says("Noon.")
    model = await adapters.at(server)
    tools = [kit.clock_tool()]
    first = await model.complete(kit.request(model, tools=tools))
    reasoning = Reasoning(first.reasoning, model.info.id, first.reasoning_fields)
    asked = [Message("user", "How late?"), Message("assistant", "", first.tool_calls, reasoning=reasoning)]
    await model.complete(kit.request(model, messages=[*asked, Message("tool", "12", tool_call_id="c")], tools=tools))
    assert server.seen[1].body["messages"][1]["reasoning_content"] == "I need the time"


async def test_other_models_never_get_the_reasoning(adapters: Any, server: Any, kit: Any) -> None:
    server.says("Noon.")
    model = await adapters.at(server)
    reasoning = Reasoning("secret thoughts", "other/model", {"reasoning_content": None})
    asked = [Message("user", "How late?"), Message("assistant", "", [ToolCall("c", "time.now")], reasoning=reasoning)]
    messages = [*asked, Message("tool", "12", tool_call_id="c")]
    await model.complete(kit.request(model, messages=messages, tools=[kit.clock_tool()]))
    assert b"secret thoughts" not in server.seen[0].raw


@pytest.mark.parametrize("has_calls", [True, False])
async def test_reasoning_of_earlier_turns_and_of_last_replies_is_never_sent(
    adapters: Any, server: Any, kit: Any, has_calls: bool
) -> None:
    server.says("Noon.")
    model = await adapters.at(server)
    blocks = [{"type": "thinking", "thinking": "secret thoughts", "signature": "sig"}]
    fields = {"reasoning_content": None, "thinking": None, "thinking_blocks": blocks}
    reasoning = Reasoning("secret thoughts", model.info.id, fields)
    calls = [ToolCall("c", "time.now")] if has_calls else []
    messages = [Message("user", "How late?"), Message("assistant", "I look.", calls, reasoning=reasoning)]
    messages += [Message("tool", "12", tool_call_id="c"), Message("assistant", "Noon.")] if has_calls else []
    messages.append(Message("user", "And now?"))
    await model.complete(kit.request(model, messages=messages, tools=[kit.clock_tool()]))
    assert b"secret thoughts" not in server.seen[0].raw
    assert b"And now?" in server.seen[0].raw
