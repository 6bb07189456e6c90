"""The web tools, against a server on loopback that the settings open."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from sophon import Context, Risk, Services
from sophon.builtin_tools.http import http_request, http_send
from sophon.errors import InvalidArguments, ToolError
from sophon.testing import VirtualClock


@dataclass
class Server:
    url: str = ""
    requests: list[str] = field(default_factory=list[str])
    bodies: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def serving(
    body: str, kind: str = "text/plain", status: str = "200 OK", extra: str = ""
) -> AsyncIterator[Server]:
    server = Server()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0)
        server.requests.append(head)
        server.bodies.append((await reader.readexactly(length)).decode())
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{extra}Content-Length: {len(body)}\r\n\r\n".encode()
        )
        writer.write(b"" if head.startswith("HEAD") else body.encode())
        writer.close()
        await writer.wait_closed()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/page"
    async with listening:
        yield server


async def test_a_page_comes_with_its_status_address_and_kind(ctx: Context) -> None:
    async with serving("hello") as server:
        text = await http_request.invoke({"url": server.url}, ctx)
    assert text == f"HTTP 200 OK, {server.url} (text/plain)\n\nhello"


async def test_json_stands_alone_so_that_it_is_cut_as_json(ctx: Context) -> None:
    async with serving("[1, 2]", "application/json") as server:
        assert await http_request.invoke({"url": server.url}, ctx) == "[1, 2]"


async def test_an_error_answer_is_told_with_its_body(ctx: Context) -> None:
    async with serving('{"error": 1}', "application/json", "404 Not Found") as server:
        text = await http_request.invoke({"url": server.url}, ctx)
    assert text.startswith("HTTP 404 Not Found")
    assert text.endswith('{"error": 1}')


async def test_head_gives_the_headers(ctx: Context) -> None:
    async with serving("hello", extra="X-Colour: green\r\n") as server:
        text = await http_request.invoke({"url": server.url, "method": "HEAD"}, ctx)
    assert "x-colour: green" in text


@pytest.mark.parametrize(
    ("body", "headers", "kind"),
    [
        ('{"a": 1}', {}, "content-type: application/json"),
        ("hello", {}, "content-type: text/plain; charset=utf-8"),
        ("a=1", {"Content-Type": "application/x-www-form-urlencoded"}, "content-type: application/x-www-form"),
    ],
)
async def test_what_is_sent_arrives_with_its_kind(ctx: Context, body: str, headers: dict[str, str], kind: str) -> None:
    async with serving("ok") as server:
        await http_send.invoke({"url": server.url, "body": body, "headers": headers}, ctx)
    assert server.requests[0].startswith("POST /page ")
    assert kind in server.requests[0].lower()
    assert server.bodies == [body]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "get"])
async def test_reading_never_sends(ctx: Context, method: str) -> None:
    with pytest.raises(InvalidArguments, match="method: input should be 'GET' or 'HEAD'"):
        await http_request.invoke({"url": "http://127.0.0.1:1/", "method": method}, ctx)


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "http://10.0.0.1/", "http://localhost/", "file:///etc/passwd"]
)
async def test_an_address_inside_is_refused(ctx: Context, url: str) -> None:
    with pytest.raises(ToolError, match="is blocked"):
        await http_request.invoke({"url": url}, ctx)


async def test_a_redirect_inside_is_refused(ctx: Context) -> None:
    async with serving("", status="302 Found", extra="Location: http://169.254.169.254/\r\n") as server:
        with pytest.raises(ToolError, match=r"blocked \(redirect\)"):
            await http_request.invoke({"url": server.url}, ctx)


async def test_without_the_setting_loopback_is_refused_too() -> None:
    ctx = Services(clock=VirtualClock()).turn("Hello")
    async with serving("hello") as server:
        with pytest.raises(ToolError, match="AllowCidrs"):
            await http_request.invoke({"url": server.url}, ctx)
    assert server.requests == []


async def test_a_credential_header_is_refused(ctx: Context) -> None:
    with pytest.raises(ToolError, match="Authorization"):
        await http_request.invoke({"url": "http://127.0.0.1:1/", "headers": {"Authorization": "Bearer x"}}, ctx)


async def test_a_server_that_is_not_there_is_a_tool_error(ctx: Context) -> None:
    async with serving("") as server:
        pass
    with pytest.raises(ToolError, match="failed"):
        await http_request.invoke({"url": server.url}, ctx)


def test_sending_asks_and_both_are_fenced() -> None:
    assert (http_request.risk, http_send.risk) == (Risk.LOW, Risk.HIGH)
    assert http_request.external
    assert http_send.external
