"""Replies that are too large, over real HTTP: they are refused while they are read, by all adapters."""

import gzip
import zlib
from typing import Any

import pytest
from aiohttp import web

from sophon.errors import ModelError, ProviderUnavailable, ResponseTooLarge
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.providers.bounded_response import MAX_ERROR_BYTES, max_body_bytes, max_stream_bytes
from sophon.testing import VirtualClock

LIMIT = 2000
MEGABYTE = 1024 * 1024


class Sent:
    """Bytes that a server could write before its client hung up."""

    total = 0


def endless(server: Any, head: bytes, piece: bytes, **headers: str) -> Sent:
    """Let the server answer with a body of 100 MB at most."""
    sent = Sent()

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        await response.write(head)
        try:
            while sent.total < 100 * MEGABYTE:
                await response.write(piece)
                sent.total += len(piece)
        finally:
            server.hung_up.set()
        return response

    server.script.append(answer)
    return sent


def gateway_of(*models: Any, **options: Any) -> ModelGateway:
    clock = VirtualClock()
    providers = [
        Provider(f"p{place}", [model], place, keys=ApiKeyPool(("sk-one",), clock)) for place, model in enumerate(models)
    ]
    return ModelGateway(providers, clock=clock, options=GatewayOptions(**options))


async def ask(model: Any, request: Any, **options: Any) -> Any:
    gateway = gateway_of(model, max_reply_bytes=LIMIT, **options)
    return await gateway.call(request, gateway.candidates())


async def refused(server: Any, model: Any, request: Any) -> ModelError:
    """Return the error of a call that was made exactly once."""
    with pytest.raises(ResponseTooLarge) as caught:
        await ask(model, request)
    assert len(server.seen) == 1
    return caught.value


async def test_a_whole_body_is_refused_after_the_bytes_that_a_reply_may_have(
    adapters: Any, server: Any, kit: Any
) -> None:
    model = await adapters.at(server)
    sent = endless(
        server, b'{"choices": [{"message": {"content": "', b"x" * 65536, **{"Content-Type": "application/json"}
    )
    error = await refused(server, model, kit.request(model))
    await server.left()
    assert error.code == "response_too_large"
    # What is not in the limit is in the buffers of two sockets.
    assert sent.total < max_body_bytes(LIMIT) + 8 * MEGABYTE


async def test_an_announced_length_is_refused_before_the_body_is_read(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(10**9)})
        await response.prepare(request)
        await server.hung_up.wait()
        return response

    server.script.append(answer)
    await refused(server, model, kit.request(model))


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_compressed_bomb_is_inflated_in_steps_and_refused(
    adapters: Any, server: Any, kit: Any, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = await adapters.at(server)
    inflated: list[int] = []
    create = zlib.decompressobj

    def counted(wbits: int) -> Any:
        real = create(wbits=wbits)

        class Counting:
            eof = property(lambda _: real.eof)
            unconsumed_tail = property(lambda _: real.unconsumed_tail)
            unused_data = property(lambda _: real.unused_data)

            def decompress(self, data: bytes, most: int = 0) -> bytes:
                inflated.append(len(out := real.decompress(data, most)))
                return out

        return Counting()

    body = b'{"choices": [{"message": {"content": "' + b"x" * 30 * MEGABYTE + b'"}, "finish_reason": "stop"}]}'
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=packed, headers={"Content-Type": "application/json", "Content-Encoding": encoding})

    server.script.append(answer)
    monkeypatch.setattr("sophon.models.providers.content_decoding.zlib.decompressobj", lambda wbits: counted(wbits))
    await refused(server, model, kit.request(model))
    assert max(inflated) <= 65536
    assert sum(inflated) <= max_body_bytes(LIMIT) + 65536


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip"])
async def test_an_encoding_that_was_not_requested_is_an_error_of_the_provider(
    adapters: Any, server: Any, kit: Any, encoding: str
) -> None:
    model = await adapters.at(server)
    for _ in range(4):
        endless(server, b"", b"x" * 1000, **{"Content-Type": "application/json", "Content-Encoding": encoding})
    with pytest.raises(ProviderUnavailable, match="content encoding"):
        await ask(model, kit.request(model))
    assert server.seen[0].headers["Accept-Encoding"] == "gzip, deflate"


async def test_a_compressed_reply_of_a_fair_size_is_read(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)

    async def answer(_: web.Request) -> web.StreamResponse:
        response = web.json_response(server.dialect.whole(kit.whole({"role": "assistant", "content": "Good day"})))
        response.enable_compression()
        return response

    server.script.append(answer)
    assert (await ask(model, kit.request(model))).text == "Good day"


async def test_an_error_body_without_end_is_cut_off_and_its_status_reported(
    adapters: Any, server: Any, kit: Any
) -> None:
    model = await adapters.at(server)

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=400, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        try:
            for _ in range(1600):
                await response.write(b"x" * 65536)
        finally:
            server.hung_up.set()
        return response

    server.script.append(answer)
    with pytest.raises(ModelError) as caught:
        await ask(model, kit.request(model))
    await server.left()
    assert caught.value.status == 400
    assert len(str(caught.value)) < MAX_ERROR_BYTES


@pytest.mark.parametrize(
    "piece",
    [
        {"content": "x" * 600},
        {"reasoning_content": "x" * 600},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": "x" * 600}}]},
    ],
    ids=["text", "reasoning", "arguments"],
)
async def test_a_stream_is_refused_at_the_limit(adapters: Any, server: Any, kit: Any, piece: Any) -> None:
    model, heard = await adapters.at(server), []
    server.streams(*[kit.chunk(**piece)] * 20, end="hang")
    await refused(server, model, kit.request(model, tools=[kit.clock_tool()], on_text=heard.append))
    assert len("".join(heard)) <= LIMIT


async def test_text_that_was_shown_before_the_limit_stays_shown(adapters: Any, server: Any, kit: Any) -> None:
    model, heard = await adapters.at(server), []
    server.streams("Good day", "x" * (LIMIT + 1), end="hang")
    error = await refused(server, model, kit.request(model, on_text=heard.append))
    assert error.visible
    assert heard == ["Good day"]


async def test_a_reply_that_is_too_large_is_not_failed_over(adapters: Any, serve: Any, kit: Any) -> None:
    large, other = await serve(), await serve()
    first, second = await adapters.at(large), await adapters.at(other)
    large.says("x" * (LIMIT + 1))
    gateway = gateway_of(first, second, max_reply_bytes=LIMIT)
    with pytest.raises(ResponseTooLarge):
        await gateway.call(kit.request(first), gateway.candidates())
    assert (len(large.seen), len(other.seen)) == (1, 0)


async def test_more_tool_calls_than_a_reply_may_have_are_refused(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    calls = [("", "t", "")] * 1001
    server.says(None, tool_calls=kit.tool_calls(*calls))
    gateway = gateway_of(model)
    with pytest.raises(ResponseTooLarge, match="tool calls"):
        await gateway.call(kit.request(model), gateway.candidates())


async def test_a_stream_of_comments_is_refused_at_a_number_of_bytes(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    silence = server.dialect.stream().feed(b": keep-alive\n\n") or b" \n"
    sent = endless(server, b"", silence * 4096, **{"Content-Type": server.dialect.stream_type})
    await refused(server, model, kit.request(model, on_text=lambda _: None))
    await server.left()
    assert sent.total < max_stream_bytes(LIMIT) + 8 * MEGABYTE


async def test_a_line_of_a_stream_without_an_end_is_refused(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    sent = endless(server, b"data: ", b"x" * 65536, **{"Content-Type": "text/event-stream"})
    await refused(server, model, kit.request(model, on_text=lambda _: None))
    await server.left()
    assert sent.total < max_stream_bytes(LIMIT) + 8 * MEGABYTE


async def test_deeply_nested_json_is_an_error_of_the_provider(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b'{"choices":' + b"[" * 50000 + b"]" * 50000 + b"}", content_type="application/json")

    server.script += [answer] * 4
    with pytest.raises(ModelError):
        await ask(model, kit.request(model))


async def test_the_limit_of_a_request_lowers_that_of_the_gateway(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.says("x" * 500)
    with pytest.raises(ResponseTooLarge):
        await ask(model, kit.request(model, max_reply_bytes=400))


async def test_a_reply_of_just_the_limit_is_read(adapters: Any, server: Any, kit: Any) -> None:
    model = await adapters.at(server)
    server.says("x" * LIMIT)
    assert (await ask(model, kit.request(model))).text == "x" * LIMIT
