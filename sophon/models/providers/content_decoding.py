"""Content decoding of HTTP responses in bounded steps: a small compressed body never becomes a large one in memory."""

import zlib
from collections.abc import Iterator

from sophon.errors import ProviderUnavailable

ACCEPT_ENCODING = "gzip, deflate"
"""Encodings that are requested: zlib can stop after a number of bytes, which the decoders of brotli and zstd cannot."""

STEP_BYTES = 64 * 1024
"""Most bytes that one step of the decompression produces."""


class ContentDecoder:
    """Incremental decoder of one Content-Encoding: nothing, gzip or deflate (zlib or raw).

    Raises ProviderUnavailable for another encoding, which was not requested, and for data that is not in it.
    """

    __slots__ = ("_decompressor", "_encoding", "_is_started")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower()
        self._is_started = False
        self._decompressor = zlib.decompressobj(wbits=31)
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ProviderUnavailable(
                f"the response has the content encoding {self._encoding[:40]!r}; requested was {ACCEPT_ENCODING}"
            )

    @property
    def is_identity(self) -> bool:
        """Whether the data is passed on as it is."""
        return self._encoding in ("", "identity")

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield the decoded data in pieces of at most `STEP_BYTES`; only the encoded data is copied."""
        if self.is_identity:
            for start in range(0, len(data), STEP_BYTES):
                yield data[start : start + STEP_BYTES]
            return
        try:
            yield from self._decompress(data)
        except zlib.error as error:
            raise ProviderUnavailable(f"the response is not valid {self._encoding}: {error}") from error

    def _decompress(self, data: bytes) -> Iterator[bytes]:
        if data and not self._is_started:
            self._is_started = True
            self._decompressor = zlib.decompressobj(wbits=_window_bits(self._encoding, data))
        while data:
            if self._decompressor.eof:
                if self._encoding == "deflate" or data[:1] != _GZIP_MAGIC:
                    return  # padding after the end
                self._decompressor = zlib.decompressobj(wbits=31)
            piece = self._decompressor.decompress(data, STEP_BYTES)
            if piece:
                yield piece
            data = self._decompressor.unconsumed_tail or self._decompressor.unused_data


_GZIP_MAGIC = b"\x1f"


def _window_bits(encoding: str, data: bytes) -> int:
    """Return zlib's window bits: 31 for gzip, 15 for zlib; some servers send raw deflate, -15."""
    if encoding != "deflate":
        return 31
    return 15 if data[0] & 0x0F == 8 else -15
