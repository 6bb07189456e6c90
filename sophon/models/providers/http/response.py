"""Response of a provider, over aiohttp: bounded reading, and errors below HTTP.

The module imports aiohttp, which takes 0.1 s and is needed only by a host with a real provider: `transport.py` imports
it in a worker thread.
"""

import asyncio
from collections.abc import Iterator, Mapping

import aiohttp

from sophon.errors import ModelError, ModelTimeout, ProviderUnavailable, ResponseTooLarge
from sophon.models.providers.bounded_response import SUBJECT, find_body_limit
from sophon.models.providers.content_decoding import ContentDecoder
from sophon.models.providers.http.endpoint import Endpoint

DRAIN_TIMEOUT_SECONDS = 0.5
"""Time limit for reading the rest of a stream after its last event."""


class HttpResponse:
    """Response of a provider, whose body is decoded in steps and counted: a small body never becomes a large one.

    Reading raises ResponseTooLarge beyond the limit, ProviderUnavailable if the connection breaks or the encoding
    is not one that was requested. An error response (a status from 400) is cut off instead, so that its status is
    reported.
    """

    __slots__ = (
        "_decoder",
        "_endpoint",
        "_is_cut",
        "_left",
        "_most",
        "_response",
        "_steps",
        "headers",
        "is_broken",
        "status",
    )

    def __init__(self, response: aiohttp.ClientResponse, endpoint: Endpoint, max_reply_bytes: int) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        """Case-insensitive."""
        self.is_broken = False
        """Whether the connection broke; what was read before may be a complete reply all the same."""
        self._response = response
        self._endpoint = endpoint
        self._is_cut = response.status >= 400
        self._most = self._left = find_body_limit(response.status, self.headers, max_reply_bytes)
        self._decoder = ContentDecoder(self.headers.get("Content-Encoding", ""))
        self._steps: Iterator[bytes] = iter(())

    @property
    def media_type(self) -> str:
        """Content type in lower case, without parameters; empty if there is none."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    async def read_some(self) -> bytes:
        """Return what has arrived, at least one byte; nothing at the end of the body."""
        if self._left <= 0 and self._is_cut:
            return b""
        if self._decoder.is_identity:
            data = await self._read_encoded()
        else:
            data = await self._read_decoded()
        self._left -= len(data)
        if self._left < 0:
            if not self._is_cut:
                raise ResponseTooLarge(SUBJECT, self._most)
            return data[: self._left]
        return data

    async def read(self) -> bytes:
        """Return the whole body; of an error response the beginning."""
        pieces: list[bytes] = []
        while piece := await self.read_some():
            pieces.append(piece)
        return b"".join(pieces)

    async def drain(self) -> None:
        """Read the rest of the body for half a second at most, because only then the connection can be reused."""
        if self._response.content.at_eof():
            return
        try:
            async with asyncio.timeout(DRAIN_TIMEOUT_SECONDS):
                while await self.read_some():
                    pass
        except (TimeoutError, ModelError):
            pass  # what was wanted of the response has been read

    def pause(self) -> bool:
        """Stop reading from the connection; return whether it was possible: not at the end of the body."""
        transport = self._transport()
        if transport is None or transport.is_closing():
            return False
        transport.pause_reading()
        return True

    def resume(self) -> None:
        """Read from the connection again."""
        transport = self._transport()
        if transport is not None:
            transport.resume_reading()

    def close(self) -> None:
        """Close the connection, unless the body was read to its end: then it is in the pool already."""
        self._response.close()

    def _transport(self) -> asyncio.Transport | None:
        connection = self._response.connection
        return connection.transport if connection is not None else None

    async def _read_encoded(self) -> bytes:
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            self.is_broken = True
            raise to_model_error(error, self._endpoint) from error

    async def _read_decoded(self) -> bytes:
        while True:
            for piece in self._steps:
                return piece
            data = await self._read_encoded()
            if not data:
                return b""
            self._steps = self._decoder.decode(data)


def to_model_error(error: Exception, endpoint: Endpoint) -> ModelError:
    """Return the error for a failure below HTTP: a timeout while connecting, or anything else."""
    if isinstance(error, TimeoutError):
        error.args = (f"connecting to {endpoint.shown_url} timed out",)  # aiohttp's text shows the query
        return ModelTimeout(error.args[0])
    if isinstance(error, aiohttp.ClientHttpProxyError):
        error.args = ()  # aiohttp's text shows the URL
        return ProviderUnavailable(f"the proxy refused to connect to {endpoint.shown_url}: HTTP {error.status}")
    if isinstance(error, aiohttp.ClientPayloadError):  # aiohttp's text is about the encoding of the transfer
        return ProviderUnavailable(
            f"the response was cut off: the connection to {endpoint.shown_url} closed before its end"
        )
    return ProviderUnavailable(f"the connection to {endpoint.shown_url} failed: {error or type(error).__name__}")
