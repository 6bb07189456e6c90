"""Reading of a request body that is a file, within a limit."""

from collections.abc import AsyncGenerator

from aiohttp import web
from aiohttp.http import HttpProcessingError

from sophon.errors import InputError

CHUNK_BYTES = 64 * 1024


async def read_upload(request: web.Request, max_bytes: int, too_large: Exception) -> bytes:
    """Return the body; see `read_chunks`."""
    content = bytearray()
    async for chunk in read_chunks(request, max_bytes, too_large):
        content += chunk
    return bytes(content)


async def read_chunks(request: web.Request, max_bytes: int, too_large: Exception) -> AsyncGenerator[bytes]:
    """Yield the body in pieces; a larger one is refused as soon as that is known, by its length or while it arrives.

    Raises `too_large`, InputError.
    """
    if (request.content_length or 0) > max_bytes:
        raise too_large
    size = 0
    try:
        while chunk := await request.content.read(CHUNK_BYTES):
            size += len(chunk)
            if size > max_bytes:
                raise too_large
            yield chunk
    except (ConnectionError, HttpProcessingError, web.RequestPayloadError):
        raise InputError("the file is incomplete: the connection was closed") from None
