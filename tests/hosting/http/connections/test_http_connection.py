"""Attacks with real sockets: idle, slow, endless, malformed, and clients that do not read."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from aiohttp import web

from sophon_hosting.http.connections.limits import ConnectionLimits
from sophon_hosting.http.response_headers import DEFAULT_HEADERS, SERVER_HEADER
from tests.loop_time import LoopTime

PATIENCE_SECONDS = 60
"""A test that would hang fails instead; one that passes never waits for this."""

LIMITS = ConnectionLimits()
HEAD = b"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-of-ada\r\n"


MALFORMED = (b"\x16\x03\x01\x02\r\n\r\n", b"GET / HTTP/9.9.9\r\n\r\n", b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n")


async def connect(api) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))


async def closed(reader: asyncio.StreamReader) -> bytes:
    """What arrives until the server closes the connection."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        received = b""
        with suppress(ConnectionResetError):
            while chunk := await reader.read(2**16):
                received += chunk
        return received


async def received(reader: asyncio.StreamReader, end: bytes) -> bytes:
    """What arrives up to and with these bytes."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await reader.readuntil(end)


async def trickle(loop_time: LoopTime, writer: asyncio.StreamWriter, piece: bytes, seconds: float) -> None:
    """Send a piece every two seconds, as long as that."""
    for _ in range(int(seconds / 2)):
        writer.write(piece)
        await writer.drain()
        loop_time.advance(2)
        await asyncio.sleep(0)


@pytest.fixture
async def loop_time() -> AsyncIterator[LoopTime]:
    with LoopTime() as loop_time:
        yield loop_time


@pytest.mark.parametrize(
    ("first", "piece"),
    [(b"", b""), (b"GET / HT", b""), (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"y")],
    ids=["idle", "half a line", "a byte at a time"],
)
async def test_a_head_that_does_not_arrive_closes_the_connection(serve, loop_time, first: bytes, piece: bytes) -> None:
    api = await serve()
    reader, writer = await connect(api)
    await api.until_connections(1)
    writer.write(first)
    await trickle(loop_time, writer, piece, LIMITS.request_timeout_seconds - 2)
    assert len(api.limiter) == 1
    loop_time.advance(4)
    assert await closed(reader) == b""
    writer.close()


async def test_an_idle_connection_is_closed_after_its_response_too(serve, loop_time) -> None:
    api = await serve()
    reader, writer = await connect(api)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (await received(reader, b"}")).startswith(b"HTTP/1.1 200")
    loop_time.advance(LIMITS.request_timeout_seconds + 1)
    assert await closed(reader) == b""
    writer.close()


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{", b""),
        (b"Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n{", b" "),
        (b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    ],
    ids=["half", "a byte at a time", "chunks without end"],
)
async def test_a_body_that_does_not_arrive_is_a_408(serve, loop_time, start: bytes, piece: bytes) -> None:
    begun = asyncio.Event()

    async def read(request: web.Request) -> web.Response:
        begun.set()
        return web.json_response(await request.json())

    api = await serve(more=[web.post("/read", read)])
    reader, writer = await connect(api)
    writer.write(HEAD.replace(b"/api/tasks", b"/read") + start)
    await begun.wait()
    await trickle(loop_time, writer, piece, LIMITS.request_timeout_seconds - 2)
    assert len(api.limiter) == 1
    loop_time.advance(4)
    answer = await received(reader, b"}}")
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"request_timeout" in answer
    writer.close()


async def test_a_long_response_to_a_client_that_reads_is_not_cut(serve, loop_time) -> None:
    pieces: asyncio.Queue[bytes] = asyncio.Queue()

    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while piece := await pieces.get():
            await response.write(piece)
        return response

    api = await serve(more=[web.get("/slow", slow)])
    reader, writer = await connect(api)
    writer.write(b"GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    for _ in range(6):
        pieces.put_nowait(b"x" * 99 + b"!")
        assert (await received(reader, b"!")).count(b"x") == 99
        loop_time.advance(2 * LIMITS.write_timeout_seconds)
    pieces.put_nowait(b"")
    assert await closed(reader) == b"\r\n0\r\n\r\n"
    writer.close()


async def test_a_client_that_reads_nothing_is_disconnected(serve, loop_time) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        begun.set()
        try:
            while True:
                await response.write(b"x" * 65536)
        finally:
            ended.set()

    api = await serve(more=[web.get("/endless", endless)])
    _reader, writer = await connect(api)
    writer.transport.pause_reading()
    writer.write(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await begun.wait()
    for _ in range(10_000):  # passes of the loop, in which first the buffers of the system fill
        if ended.is_set():
            break
        loop_time.advance(1)
        await asyncio.sleep(0)
    assert ended.is_set()
    assert len(api.limiter) == 0
    writer.close()


async def unread(api, path: bytes) -> asyncio.StreamWriter:
    """A connection that requests a path and reads nothing of the response; its buffers are small."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", int(api.url.rpartition(":")[2])))
    _reader, writer = await asyncio.open_connection(sock=raw)
    writer.transport.pause_reading()
    writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return writer


async def test_whoever_reads_no_response_shuts_nobody_out(serve) -> None:
    async def large(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * 8_000_000)

    limits = ConnectionLimits(max_connections=8, unread_seconds=0.1)
    api = await serve(limits=limits, more=[web.get("/large", large)])
    held = [await unread(api, b"/large") for _ in range(8)]
    client = await api.open("ada")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await client.get("/api/me", headers={"Connection": "close"})).status_code != 200:
            pass
    assert "replaced" in api.refused
    for writer in held:
        writer.close()


async def test_what_a_finished_response_leaves_unread_ends_with_the_timeout(serve, loop_time) -> None:
    served = asyncio.Event()

    async def short(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while not request.transport.get_write_buffer_size():
            await response.write(b"x" * 4096)
        served.set()
        return response

    api = await serve(more=[web.get("/short", short)])
    writer = await unread(api, b"/short")
    await served.wait()
    for _ in range(int(3 * LIMITS.write_timeout_seconds)):
        loop_time.advance(1)
        await asyncio.sleep(0)
    assert len(api.limiter) == 0
    writer.close()


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", HEAD + b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"]
)
async def test_whoever_only_holds_connections_shuts_nobody_out(serve, sent: bytes) -> None:
    api = await serve(limits=ConnectionLimits(max_connections=8))
    held = [await connect(api) for _ in range(30)]
    for _, writer in held:
        if not writer.is_closing():
            writer.write(sent)
    await asyncio.sleep(0)
    client = await api.open("ada")
    assert (await client.get("/api/me")).json()["user"] == "ada"
    assert len(api.limiter) <= 8
    assert set(api.refused) == {"replaced"}
    for _, writer in held:
        writer.close()


async def test_when_all_connections_are_busy_a_further_one_is_told_and_one_line_is_logged(serve, caplog) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def wait(_: web.Request) -> web.Response:
        started.set()
        await release.wait()
        return web.Response()

    api = await serve(limits=ConnectionLimits(max_connections=1), more=[web.get("/wait", wait)])
    busy, writer = await connect(api)
    writer.write(b"GET /wait HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    await started.wait()
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            reader, refused = await connect(api)
            refusal = await closed(reader)
            assert refusal.startswith(b"HTTP/1.1 503")
            for name, value in {**DEFAULT_HEADERS, "Server": SERVER_HEADER}.items():
                assert f"\r\n{name}: {value}\r\n".encode() in refusal
            refused.close()
    assert (
        [record.message for record in caplog.records].count(
            "refusing a connection: 1 are open and busy; see Hub.MaxConnections"
        )
        == len([record for record in caplog.records if record.name == "sophon"])
        == 1
    )
    release.set()
    assert (await closed(busy)).startswith(b"HTTP/1.1 200")
    writer.close()


async def test_malformed_requests_are_a_line_in_the_log_and_say_nothing_of_the_server(serve, caplog) -> None:
    api = await serve()
    with caplog.at_level(logging.DEBUG):
        for sent in MALFORMED * 5:
            answer = await api.raw(sent)
            assert b" 400 " in answer.partition(b"\r\n")[0]
            assert b"Server: sophon\r\n" in answer
            assert b"Cross-Origin-Resource-Policy: same-origin" in answer
            assert b"aiohttp" not in answer
            assert b"Python" not in answer
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    assert "Traceback" not in caplog.text


async def test_clients_that_hang_up_are_no_internal_errors(serve, caplog) -> None:
    begun, gone, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer_late(request: web.Request) -> web.StreamResponse:
        begun.set()
        try:
            await gone.wait()
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b"too late")
            return response
        finally:
            ended.set()

    api = await serve(more=[web.get("/late", answer_late)])
    _reader, writer = await connect(api)
    writer.write(b"GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await begun.wait()
    writer.transport.abort()
    await api.until_connections(0)
    gone.set()
    await ended.wait()
    assert (await (await api.open(None)).get("/healthz")).status_code == 200
    assert "Traceback" not in caplog.text
