"""Media type of a file by its content; the name chooses only among kinds of text, and a claim counts for nothing.

Sources: WHATWG MIME Sniffing Standard (signatures, binary data bytes); ISO 32000-1, 7.5.2 (header of PDF).
"""

import codecs
from typing import Final

from sophon.attachments import PDF
from sophon.images import find_media_type as find_image_type

BINARY: Final = "application/octet-stream"
"""Media type of everything that is not recognised."""

PLAIN_TEXT: Final = "text/plain"

TEXT_TYPE_BY_EXTENSION: Final = {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
}
"""Kinds of text by file name extension; any other text, HTML and SVG and source code too, is plain text."""

PDF_HEADER_BYTES: Final = 1024
"""Bytes at the beginning of a file in which readers look for the header of a PDF."""

_BINARY_BYTES: Final = bytes([*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
"""Bytes that text does not contain; ESC (0x1B) stands in logs of terminals."""

_ENCODINGS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def detect_media_type(content: bytes, name: str = "") -> str:
    """Return the media type of a file: an image, a PDF, a kind of text, or `BINARY`."""
    image = find_image_type(content)
    if image is not None:
        return image
    if b"%PDF-" in content[:PDF_HEADER_BYTES]:
        return PDF
    if decode_text(content) is None:
        return BINARY
    return TEXT_TYPE_BY_EXTENSION.get(name.rpartition(".")[2].lower(), PLAIN_TEXT)


def decode_text(content: bytes) -> str | None:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte order mark; None for anything else."""
    encoding = next((encoding for mark, encoding in _ENCODINGS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None
    encoded = content if encoding.startswith("utf-8") else text.encode("utf-8", "surrogatepass")
    return None if encoded.translate(None, _BINARY_BYTES) != encoded else text
