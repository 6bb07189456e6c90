"""Reading of a request body that is a file, within a limit."""

from aiohttp import web
from aiohttp.http import HttpProcessingError

from sophon.errors import InputError

CHUNK_BYTES = 64 * 1024


async def read_upload(request: web.Request, max_bytes: int, too_large: Exception) -> bytes:
    """Return the body; a larger one is refused as soon as that is known, by its length or while it arrives.

    Raises `too_large`, InputError.
    """
    if (request.content_length or 0) > max_bytes:
        raise too_large
    content = bytearray()
    try:
        while chunk := await request.content.read(CHUNK_BYTES):
            content += chunk
            if len(content) > max_bytes:
                raise too_large
    except (ConnectionError, HttpProcessingError, web.RequestPayloadError):
        raise InputError("the file is incomplete: the connection was closed") from None
    return bytes(content)
