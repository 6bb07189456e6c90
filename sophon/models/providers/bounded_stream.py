"""Bounded byte stream of httpx: decodes another stream in steps and counts the decoded bytes.

The module imports httpx, so that others load it lazily.
"""

from collections.abc import AsyncIterator

import httpx

from sophon.errors import ResponseTooLarge
from sophon.models.providers.content_decoding import ContentDecoder


class BoundedStream(httpx.AsyncByteStream):
    """Stream of the decoded bytes of another stream, up to `most` bytes.

    Beyond it raises ResponseTooLarge or, if `is_cut`, ends; either way the rest is not read from the connection.
    """

    def __init__(self, stream: httpx.AsyncByteStream, decoder: ContentDecoder, most: int, *, is_cut: bool) -> None:
        self._stream = stream
        self._decoder = decoder
        self._most = most
        self._is_cut = is_cut

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for chunk in self._stream:
            for piece in self._decoder.decode(chunk):
                left -= len(piece)
                if left >= 0:
                    yield piece
                elif self._is_cut:
                    yield piece[:left]
                    return
                else:
                    raise ResponseTooLarge("the response of the provider", self._most)

    async def aclose(self) -> None:
        """Close the other stream, and with it the connection if it was not read to its end."""
        await self._stream.aclose()
