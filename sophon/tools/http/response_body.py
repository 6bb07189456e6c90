"""HTTP response bodies: reading up to a size limit, gzip decompression, and decoding to text."""

import codecs
import re
import zlib
from collections.abc import AsyncIterator

from sophon.errors import ToolError

_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]+)""", re.IGNORECASE)
# Allow list: Python also has codecs that decompress archives, need quadratic time or produce no text.
_TEXT_CODEC = re.compile(
    r"utf-(8|16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|big5\w*|gb\w+|shift_jis\w*|euc_\w+"
)


async def read_limited_body(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """Return the first `limit` decompressed bytes, and whether there were more.

    `encoding` is the Content-Encoding: gzip or none; anything else raises ToolError, since it was not requested.
    Decompression stops at the limit, so a small compressed body cannot become a large one in memory.
    """
    decompressor = _create_decompressor(encoding)
    kept = bytearray()
    async for chunk in chunks:
        kept += decompressor.feed(chunk, limit + 1 - len(kept))
        if len(kept) > limit:
            return bytes(kept[:limit]), True
    return bytes(kept), not decompressor.complete


def decode_body(body: bytes, content_type: str, *, is_complete: bool = True) -> str:
    """Decode `body` with the charset of `content_type`, else UTF-8; invalid bytes become U+FFFD.

    With `is_complete` false, an incomplete character at the end of a truncated body is dropped.
    """
    decoder = codecs.getincrementaldecoder(_find_text_codec(content_type))(errors="replace")
    return decoder.decode(body, final=is_complete)


class _IdentityDecoder:
    complete = True

    def feed(self, chunk: bytes, limit: int) -> bytes:
        return chunk[:limit]


class _GzipDecoder:
    """Decompressor for one or several consecutive gzip members."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._started = False

    @property
    def complete(self) -> bool:
        return self._member.eof or not self._started

    def feed(self, chunk: bytes, limit: int) -> bytes:
        out = bytearray()
        try:
            while chunk and len(out) < limit:
                if self._member.eof:
                    self._member = zlib.decompressobj(wbits=31)
                self._started = True
                out += self._member.decompress(chunk, limit - len(out))
                chunk = self._member.unused_data
        except zlib.error as error:
            raise ToolError(f"the response body is not valid gzip: {error}") from error
        return bytes(out)


def _create_decompressor(encoding: str) -> _IdentityDecoder | _GzipDecoder:
    match encoding.strip().lower():
        case "" | "identity":
            return _IdentityDecoder()
        case "gzip" | "x-gzip":
            return _GzipDecoder()
        case other:
            raise ToolError(f"the response has the content encoding {other!r}; only gzip was requested")


def _find_text_codec(content_type: str) -> str:
    named = _CHARSET.search(content_type)
    try:
        codec = codecs.lookup(named[1] if named else "utf-8").name
    except LookupError:
        codec = "utf-8"
    if codec == "utf-8" or _TEXT_CODEC.fullmatch(codec) is None:
        return "utf-8-sig"
    return codec
