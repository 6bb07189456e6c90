"""Bodies of webhooks, whose sender is not known before they are read: short deadlines, and bounded memory."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from sophon._python.rate_limited_log import RateLimitedLog
from sophon_channels.webhook_body import WebhookBodyReader
from sophon_hosting.http.connections.connection_middlewares import WEBHOOK_BODY_SECONDS
from tests.hosting.http.connections.test_http_connection import PATIENCE_SECONDS, closed, connect, received
from tests.loop_time import LoopTime

HEAD = b"POST /webhooks/test HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
async def loop_time() -> AsyncIterator[LoopTime]:
    with LoopTime() as loop_time:
        yield loop_time


def reader_of(*limits: int) -> WebhookBodyReader:
    max_bytes, *total = limits
    return WebhookBodyReader(max_bytes, "/webhooks/test", RateLimitedLog(logging.getLogger("sophon")), *total)


def route(reader: WebhookBodyReader, begun: asyncio.Event) -> web.RouteDef:
    async def read(request: web.Request) -> web.Response:
        begun.set()
        body = await reader.read(request)
        return body if isinstance(body, web.Response) else web.Response(text=f"{len(body)} bytes")

    return web.post("/webhooks/test", read)


@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"Content-Length: 900000\r\n\r\n", b"x"), (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n")],
    ids=["a byte at a time", "chunks without end"],
)
async def test_a_body_that_trickles_is_closed_after_a_few_seconds(
    serve: Any, loop_time: LoopTime, start: bytes, piece: bytes
) -> None:
    begun = asyncio.Event()
    api = await serve(more=[route(reader_of(1_000_000), begun)])
    reader, writer = await connect(api)
    writer.write(HEAD + start)
    await begun.wait()
    for _ in range(2):
        writer.write(piece)
        await writer.drain()
        loop_time.advance(2)
        await asyncio.sleep(0)
    loop_time.advance(WEBHOOK_BODY_SECONDS - 3)
    assert (await received(reader, b"}}")).startswith(b"HTTP/1.1 408")
    # The rest is read for a moment, so that the client can read the response; then the connection is closed.
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(api.limiter):
            loop_time.advance(1)
            await asyncio.sleep(0)
    assert await closed(reader) == b""
    writer.close()


@pytest.mark.parametrize(
    "start", [b"Content-Length: 101\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n65\r\n" + b"x" * 101 + b"\r\n"]
)
async def test_a_body_is_refused_as_soon_as_it_is_too_large(serve: Any, start: bytes) -> None:
    api = await serve(more=[route(reader_of(100), asyncio.Event())])
    reader, writer = await connect(api)
    writer.write(HEAD + start)
    assert (await received(reader, b"\r\n\r\n")).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_what_is_read_of_all_bodies_together_is_bounded_and_freed_again(serve: Any) -> None:
    begun = asyncio.Event()
    bodies = reader_of(100, 150)
    api = await serve(more=[route(bodies, begun)])
    first_reader, first = await connect(api)
    first.write(HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 90)
    await begun.wait()
    while bodies.held_bytes < 90:
        await asyncio.sleep(0)
    second_reader, second = await connect(api)
    second.write(HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 90)
    assert (await received(second_reader, b"\r\n\r\n")).startswith(b"HTTP/1.1 503")
    first.write(b"x" * 10)
    assert (await received(first_reader, b"100 bytes")).startswith(b"HTTP/1.1 200")
    third_reader, third = await connect(api)
    third.write(HEAD + b"Content-Length: 100\r\n\r\n" + b"x" * 100)
    assert (await received(third_reader, b"100 bytes")).startswith(b"HTTP/1.1 200")
    for writer in (first, second, third):
        writer.close()
