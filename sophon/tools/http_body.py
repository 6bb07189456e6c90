"""Reading an answer's body up to a limit, however it is packed, and turning it into text."""

import codecs
import re
import zlib
from collections.abc import AsyncIterator

from sophon.errors import ToolError

_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]+)""", re.IGNORECASE)
# Python also knows codecs that unpack archives, need quadratic time or give no text at all.
_TEXT_CODEC = re.compile(
    r"utf-(8|16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|big5\w*|gb\w+|shift_jis\w*|euc_\w+"
)


async def read_capped(chunks: AsyncIterator[bytes], encoding: str, limit: int) -> tuple[bytes, bool]:
    """The first `limit` bytes after unpacking, and whether there were more.

    `encoding` is the Content-Encoding: gzip or none; anything else raises ToolError, since it was not asked for. A
    small packed body cannot become a large one in memory: unpacking stops at the limit too.
    """
    unpack = _unpacker(encoding)
    kept = bytearray()
    async for chunk in chunks:
        kept += unpack.feed(chunk, limit + 1 - len(kept))
        if len(kept) > limit:
            return bytes(kept[:limit]), True
    return bytes(kept), not unpack.complete


def as_text(body: bytes, content_type: str, *, whole: bool = True) -> str:
    """`body` in the charset that `content_type` names, else UTF-8; bytes that are none become U+FFFD.

    With `whole` false a character that the cut parted at the end is dropped.
    """
    decoder = codecs.getincrementaldecoder(_text_codec(content_type))(errors="replace")
    return decoder.decode(body, final=whole)


class _Plain:
    complete = True

    def feed(self, chunk: bytes, room: int) -> bytes:
        return chunk[:room]


class _Gzip:
    """One or several gzip members, one after the other."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._begun = False

    @property
    def complete(self) -> bool:
        return self._member.eof or not self._begun

    def feed(self, chunk: bytes, room: int) -> bytes:
        out = bytearray()
        try:
            while chunk and len(out) < room:
                if self._member.eof:
                    self._member = zlib.decompressobj(wbits=31)
                self._begun = True
                out += self._member.decompress(chunk, room - len(out))
                chunk = self._member.unused_data
        except zlib.error as error:
            raise ToolError(f"the answer says that it is gzip and cannot be unpacked: {error}") from error
        return bytes(out)


def _unpacker(encoding: str) -> _Plain | _Gzip:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip":
            return _Gzip()
        case other:
            raise ToolError(f"the answer is packed as {other!r}, and only gzip was asked for")


def _text_codec(content_type: str) -> str:
    named = _CHARSET.search(content_type)
    try:
        codec = codecs.lookup(named[1] if named else "utf-8").name
    except LookupError:
        codec = "utf-8"
    if codec == "utf-8" or _TEXT_CODEC.fullmatch(codec) is None:
        return "utf-8-sig"
    return codec
