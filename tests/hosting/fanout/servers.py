"""The servers that fan-outs need, and a proxy in front of one, which can be cut."""

import asyncio
import os
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.postgres import SERVER as POSTGRES

REDIS = os.environ.get("SOPHON_TEST_REDIS", "redis://127.0.0.1:6379/0")
WAIT_SECONDS = 20.0


def require(name: str, url: str) -> None:
    """Skip a test without its server; fail where SOPHON_CI is set."""
    if url:
        return
    message = f"no {name} for tests: its URL is not set"
    if os.environ.get("SOPHON_CI"):
        pytest.fail(message)
    pytest.skip(message)


async def require_redis() -> str:
    """The URL of a Redis that answers."""
    parts = urlsplit(REDIS)
    try:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port or 6379)
        writer.close()
    except OSError:
        require("Redis", "")
    return REDIS


def require_postgres() -> str:
    """The URL of a PostgreSQL."""
    require("PostgreSQL (SOPHON_TEST_POSTGRES)", POSTGRES)
    return POSTGRES


class Proxy:
    """A TCP proxy on loopback to the server of a URL."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._port = 0

    @property
    def url(self) -> str:
        """The URL that leads through the proxy, with a password in it."""
        at = f"{self._parts.username or ''}:hidden-word@127.0.0.1:{self._port}"
        if self._parts.scheme == "redis":  # which asks for no password here
            at = f"127.0.0.1:{self._port}"
        return urlunsplit(self._parts._replace(netloc=at))

    async def start(self) -> None:
        """Listen, at the same port as before."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Break all connections and take no more."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        default = 6379 if self._parts.scheme == "redis" else 5432
        up_reader, up_writer = await asyncio.open_connection(self._parts.hostname, self._parts.port or default)
        self._writers |= {writer, up_writer}
        await asyncio.gather(_copy(reader, up_writer), _copy(up_reader, writer), return_exceptions=True)
        self._writers -= {writer, up_writer}


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.transport.abort()
