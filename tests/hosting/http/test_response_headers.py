"""Headers that every response has, whoever makes it: handlers, errors, aiohttp, Engine.IO."""

import asyncio

import pytest

from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.hub.hub import Hub

EXPECTED = {
    "Server": "sophon",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/healthz", 200),
        ("GET", "/metrics", 200),
        ("GET", "/nothing", 404),
        ("PUT", "/healthz", 405),
        ("GET", "/api/me", 401),
        ("POST", "/v1/chat/completions", 401),
        ("GET", "/socket.io/?EIO=4&transport=polling", 200),
        ("GET", "/socket.io/?EIO=4&transport=polling&sid=unknown", 400),
        ("GET", "/socket.io/?EIO=3&transport=polling", 400),
    ],
)
async def test_every_response_has_the_security_headers_and_no_version(serve, method, path, status) -> None:
    api = await serve(prepare_app=lambda host, app: Hub(host, TokenAuthenticator({})).attach(app))
    answer = await (await api.open(None)).request(method, path)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in EXPECTED} == EXPECTED
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    shown = f"{answer.headers} {'' if path == '/metrics' else answer.text}".lower()
    assert not [word for word in ("aiohttp", "python/", "engineio", "0.1.0") if word in shown]


async def test_a_websocket_and_a_refused_expectation_have_them_too(serve) -> None:
    api = await serve(prepare_app=lambda host, app: Hub(host, TokenAuthenticator({})).attach(app))
    upgrade = (
        b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    writer.write(upgrade)
    head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    assert head.startswith(b"HTTP/1.1 101")
    assert b"Server: sophon\r\n" in head
    expecting = b"POST /api/tasks HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\nConnection: close\r\n\r\n"
    answer = await api.raw(expecting)
    assert b"417" in answer
    assert b"Server: sophon\r\n" in answer
