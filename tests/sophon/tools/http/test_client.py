"""The pinned client against real servers on loopback: address, names, redirects, limits."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sophon.errors import ToolError
from sophon.testing.virtual_clock import VirtualClock
from sophon.tools.http.client import HttpLimits, SafeHttpClient
from sophon.tools.http.ssrf_guard import SsrfBlocked, SsrfGuard
from tests.tables import table

TLS = Path(__file__).parent / "tls"

# Set here, while pytest collects: tests/conftest.py marks too late for tables.
pytestmark = pytest.mark.anyio


@dataclass
class Seen:
    line: str
    headers: dict[str, str]
    body: str


@dataclass
class Site:
    """A server on 127.0.0.1 that answers a path with the bytes set for it, and remembers what it was asked."""

    port: int = 0
    answers: dict[str, bytes] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hung: asyncio.Event = field(default_factory=asyncio.Event)

    def url(self, host: str, path: str = "/", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-1])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(Seen(head[0], headers, body.decode()))
        self.asked.set()
        answer = self.answers.get(head[0].split()[1].partition("?")[0])
        if answer is None:
            await self.hung.wait()
        else:
            writer.write(answer)
        # A client that has read enough hangs up first.
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


@asynccontextmanager
async def site(tls: ssl.SSLContext | None = None, **answers: bytes) -> AsyncIterator[Site]:
    running = Site(answers={f"/{path}": answer for path, answer in answers.items()})
    if tls is not None:
        tls.sni_callback = lambda _, name, __: running.names.append(name)
    server = await asyncio.start_server(running.serve, "127.0.0.1", 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        running.hung.set()
        server.close()
        await server.wait_closed()


def answer(body: bytes | str = "", status: int = 200, **headers: str) -> bytes:
    content = body.encode() if isinstance(body, str) else body
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} Said", f"Content-Length: {len(content)}", *lines])
    return head.encode() + b"\r\n\r\n" + content


class Lookups:
    """Every name leads to 127.0.0.1 at its first look-up, and to cloud metadata after."""

    def __init__(self) -> None:
        self.hosts: list[str] = []

    async def __call__(self, host: str) -> list[str]:
        self.hosts.append(host)
        return ["127.0.0.1"] if self.hosts.count(host) == 1 else ["169.254.169.254"]


def client(
    names: Lookups | None = None,
    clock: VirtualClock | None = None,
    limits: HttpLimits | None = None,
    tls: ssl.SSLContext | None = None,
) -> SafeHttpClient:
    guard = SsrfGuard(names or Lookups(), allow_cidrs=["127.0.0.1/32"])
    return SafeHttpClient(guard, clock=clock or VirtualClock(auto=False), limits=limits, tls=tls)


async def test_an_answer_comes_back_with_its_status_headers_and_text() -> None:
    async with site(x=answer("grüezi", 404, Content_Type="text/plain; charset=utf-8")) as host:
        got = await client().fetch("get", host.url("a.example.com", "/x?q=1"))
    assert (got.status, got.text, got.truncated) == (404, "grüezi", False)
    assert got.url == host.url("a.example.com", "/x?q=1")
    assert got.headers["content-type"] == "text/plain; charset=utf-8"
    assert host.seen[0].line == "GET /x?q=1 HTTP/1.1"


async def test_the_checked_address_is_connected_to_with_the_original_host_header() -> None:
    names = Lookups()
    async with site(x=answer("ok")) as host:
        await client(names).fetch("GET", host.url("rebind.example.com", "/x"))
    assert names.hosts == ["rebind.example.com"]
    assert host.seen[0].headers["host"] == f"rebind.example.com:{host.port}"


async def test_an_international_name_is_sent_as_it_was_looked_up() -> None:
    names = Lookups()
    async with site(x=answer("ok")) as host:
        await client(names).fetch("GET", host.url("bücher.example", "/x"))
    assert names.hosts == ["xn--bcher-kva.example"]
    assert host.seen[0].headers["host"].startswith("xn--bcher-kva.example:")


async def test_a_body_and_plain_headers_are_sent() -> None:
    async with site(x=answer("ok")) as host:
        await client().fetch("POST", host.url("a.example.com", "/x"), {"Content-Type": "text/plain"}, "hällo")
    assert host.seen[0].body == "hällo"
    assert host.seen[0].headers["content-type"] == "text/plain"


async def test_the_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with site(x=answer("direct")) as host, site() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        got = await client().fetch("GET", host.url("a.example.com", "/x"))
    assert got.text == "direct"
    assert not proxy.seen


async def test_https_names_and_verifies_the_host_and_not_the_address() -> None:
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(TLS / "server.pem")
    trusting = ssl.create_default_context(cafile=TLS / "authority.pem")
    async with site(serving, x=answer("sealed")) as host:
        got = await client(tls=trusting).fetch("GET", host.url("pinned.example.com", "/x", "https"))
    assert got.text == "sealed"
    assert host.names == ["pinned.example.com"]


@table("name", ["other.example.com", "127.0.0.1"])
async def test_https_refuses_a_certificate_of_another_name(name: str) -> None:
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(TLS / "server.pem")
    trusting = ssl.create_default_context(cafile=TLS / "authority.pem")
    async with site(serving, x=answer("sealed")) as host:
        with pytest.raises(ToolError, match="CERTIFICATE_VERIFY_FAILED"):
            await client(tls=trusting).fetch("GET", host.url(name, "/x", "https"))
    assert not host.seen


async def test_https_refuses_an_authority_that_nobody_named() -> None:
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(TLS / "server.pem")
    async with site(serving, x=answer("sealed")) as host:
        with pytest.raises(ToolError, match="CERTIFICATE_VERIFY_FAILED"):
            await client().fetch("GET", host.url("pinned.example.com", "/x", "https"))


@table(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "//169.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://localhost/",
        "http://2852039166/",
        "gopher://127.0.0.1:25/",
        "http://127.0.0.2/",
        "http:///x",
        "http://[::1/",
        "http://a\\b/",
    ],
)
async def test_a_redirect_to_a_refused_place_ends_the_fetch(location: str) -> None:
    async with site(x=answer("", 302, Location=location)) as host:
        with pytest.raises(SsrfBlocked) as blocked:
            await client().fetch("GET", host.url("a.example.com", "/x"))
    assert blocked.value.stage == "redirect"
    assert len(host.seen) == 1


async def test_a_redirect_to_a_name_that_has_moved_inside_is_refused() -> None:
    async with site(x=answer("", 302, Location="/y"), y=answer("never")) as host:
        with pytest.raises(SsrfBlocked, match="redirect"):
            await client().fetch("GET", host.url("rebind.example.com", "/x"))
    assert len(host.seen) == 1


async def test_a_redirect_is_followed_and_the_answer_names_the_last_hop() -> None:
    async with site(y=answer("there")) as host:
        host.answers["/x"] = answer("ignored", 301, Location=host.url("b.example.com", "/y"))
        got = await client().fetch("GET", host.url("a.example.com", "/x"))
    assert (got.text, got.url) == ("there", host.url("b.example.com", "/y"))
    assert host.seen[1].headers["host"] == f"b.example.com:{host.port}"


@table(
    ("status", "method", "then"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (302, "DELETE", "DELETE"),
        (307, "POST", "POST"),
        (308, "PUT", "PUT"),
    ],
)
async def test_a_redirect_changes_the_method_as_browsers_do(status: int, method: str, then: str) -> None:
    async with site(y=answer()) as host:
        host.answers["/x"] = answer("", status, Location=host.url("127.0.0.1", "/y"))
        sent = {"content-type": "text/plain"}
        await client().fetch(method, host.url("127.0.0.1", "/x"), sent, None if method == "HEAD" else "body")
    kept = then == method and method != "HEAD"
    assert host.seen[1].line.split()[0] == then
    assert host.seen[1].body == ("body" if kept else "")
    assert ("content-type" in host.seen[1].headers) == (then == method)


async def test_a_key_does_not_travel_to_another_origin() -> None:
    sent = {"X-Shop-Key": "k", "Accept": "text/html"}
    async with site(y=answer()) as host:
        host.answers["/x"] = answer("", 307, Location=host.url("b.example.com", "/y"))
        await client().fetch("GET", host.url("a.example.com", "/x"), sent)
    assert [seen.headers.get("x-shop-key") for seen in host.seen] == ["k", None]
    assert [seen.headers["accept"] for seen in host.seen] == ["text/html", "text/html"]


async def test_a_key_stays_on_the_same_origin() -> None:
    async with site(x=answer("", 302, Location="/y"), y=answer()) as host:
        await client().fetch("GET", host.url("127.0.0.1", "/x"), {"X-Shop-Key": "k"})
    assert [seen.headers.get("x-shop-key") for seen in host.seen] == ["k", "k"]


async def test_no_cookie_is_kept_between_hops() -> None:
    async with site(x=answer("", 302, Location="/y", Set_Cookie="a=b"), y=answer()) as host:
        await client().fetch("GET", host.url("127.0.0.1", "/x"))
    assert "cookie" not in host.seen[1].headers


async def test_a_redirect_too_many_ends_the_fetch() -> None:
    async with site(x=answer("", 302, Location="/x")) as host:
        with pytest.raises(SsrfBlocked, match="more than 5 redirects"):
            await client().fetch("GET", host.url("127.0.0.1", "/x"))
    assert len(host.seen) == 6


async def test_a_redirect_without_a_place_is_an_answer() -> None:
    async with site(x=answer("choose", 302)) as host:
        assert (await client().fetch("GET", host.url("127.0.0.1", "/x"))).text == "choose"


async def test_a_body_over_the_limit_is_cut() -> None:
    async with site(x=answer("ä" * 3_000_000)) as host:
        got = await client(limits=HttpLimits(max_bytes=1001)).fetch("GET", host.url("127.0.0.1", "/x"))
    assert got.truncated
    assert got.text == "ä" * 500


async def test_a_body_of_just_the_limit_is_whole() -> None:
    async with site(x=answer("a" * 1000)) as host:
        got = await client(limits=HttpLimits(max_bytes=1000)).fetch("GET", host.url("127.0.0.1", "/x"))
    assert (len(got.text), got.truncated) == (1000, False)


async def test_a_packed_bomb_is_cut_at_the_unpacked_size() -> None:
    bomb = gzip.compress(b"a" * 50_000_000)
    async with site(x=answer(bomb, Content_Encoding="gzip")) as host:
        got = await client().fetch("GET", host.url("127.0.0.1", "/x"))
    assert (len(got.text), got.truncated) == (1_000_000, True)


async def test_a_slow_server_is_given_up() -> None:
    clock = VirtualClock(auto=False)
    async with site() as host:
        fetching = asyncio.create_task(client(clock=clock).fetch("GET", host.url("a.example.com")))
        await host.asked.wait()
        await clock.advance(29)
        assert not fetching.done()
        await clock.advance(2)
        with pytest.raises(ToolError, match="timed out after 30 s"):
            await fetching


async def test_the_time_is_for_all_hops_together() -> None:
    clock = VirtualClock(auto=False)
    async with site(x=answer("", 302, Location="/slow")) as host:
        fetching = asyncio.create_task(client(clock=clock).fetch("GET", host.url("127.0.0.1", "/x")))
        while len(host.seen) < 2:
            host.asked.clear()
            await host.asked.wait()
        await clock.advance(31)
        with pytest.raises(ToolError, match="timed out after"):
            await fetching


async def test_a_fetch_can_be_cancelled() -> None:
    async with site() as host:
        fetching = asyncio.create_task(client().fetch("GET", host.url("a.example.com")))
        await host.asked.wait()
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching


async def test_a_connection_that_fails_is_a_clear_error() -> None:
    async with site() as host:
        url = host.url("127.0.0.1")
    with pytest.raises(ToolError, match=r"GET .* failed: ConnectError"):
        await client().fetch("GET", url)


async def test_an_answer_that_is_no_http_is_a_clear_error() -> None:
    async with site(x=b"SSH-2.0-OpenSSH\r\n\r\n") as host:
        with pytest.raises(ToolError, match="RemoteProtocolError"):
            await client().fetch("GET", host.url("127.0.0.1", "/x"))


@table("method", ["CONNECT", "TRACE", "GET /x", "", "GET\r\nHost: b"])
async def test_a_strange_method_never_reaches_the_network(method: str) -> None:
    names = Lookups()
    with pytest.raises(ToolError, match="method"):
        await client(names).fetch(method, "http://a.example.com/")
    assert not names.hosts


async def test_a_denied_header_never_reaches_the_network() -> None:
    names = Lookups()
    with pytest.raises(ToolError, match="'Host' must not be set"):
        await client(names).fetch("GET", "http://a.example.com/", {"Host": "b.example.com"})
    assert not names.hosts
