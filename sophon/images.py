"""Images in messages of the user: their form, how they are named for models that cannot see, and their tokens.

Sources: OpenAI docs, Images and vision; Claude docs, Vision (media types, size limit, tokens); Ollama API
documentation, Generate a chat message; the specifications of the file formats (PNG IHDR, JPEG SOFn, GIF logical screen,
RIFF WebP).
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import urlsplit

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError

MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""Size of one image, as Anthropic limits it."""

MAX_IMAGES = 20
"""Images of one message."""

MAX_URL_CHARACTERS = 8192

PIXELS_PER_TOKEN = 750
MAX_EDGE = 1568
"""Longer edge in pixels to which a provider scales an image before it counts its tokens."""
MAX_IMAGE_TOKENS = 1600
"""Tokens of an image at most, and those of one whose size is unknown."""
MIN_IMAGE_TOKENS = 85
"""Tokens of the smallest image."""

_HEADER_BYTES = 64 * 1024
"""Bytes of a file in which its width and height are looked for: before them a JPEG may have a profile or a preview."""
_DATA_URL = re.compile(r"data:(image/[a-z.+-]+);base64,", re.IGNORECASE)
_SOF_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its file in base64, or the http(s) address from which the provider loads it.

    `media_type` is that of a file (`find_media_type`), and empty for an address. `name` is what people call it. Sophon
    itself never loads the address. Make one with `image_from_bytes` or `image_from_url`, which check it.
    """

    data: str = ""
    url: str = ""
    media_type: str = ""
    name: str = ""

    def to_json(self) -> dict[str, str]:
        """Return JSON-serialisable data; empty fields are omitted."""
        fields = {"data": self.data, "url": self.url, "media_type": self.media_type, "name": self.name}
        return {name: value for name, value in fields.items() if value}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `to_json`."""
        return cls(data.get("data") or "", data.get("url") or "", data.get("media_type") or "", data.get("name") or "")

    @property
    def address(self) -> str:
        """The image as one URL: its own, or a `data:` URL with the file."""
        return self.url or f"data:{self.media_type};base64,{self.data}"


def image_from_bytes(content: bytes, *, name: str = "") -> Image:
    """Return the image of a file. Raises InputError if it is too large, or in no known format."""
    if not isinstance(content, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"the image is {content!r:.60}; give the bytes of its file: Path(...).read_bytes()")
    if len(content) > MAX_IMAGE_BYTES:
        raise InputError(f"the image has {len(content)} bytes; at most {MAX_IMAGE_BYTES} are allowed: scale it down")
    media_type = find_media_type(content)
    if media_type is None:
        raise InputError("the file is no image in a known format; send PNG, JPEG, GIF or WebP")
    return Image(base64.b64encode(content).decode("ascii"), media_type=media_type, name=name)


def image_from_url(url: str, *, name: str = "") -> Image:
    """Return the image of a `data:` URL in base64, or of an http(s) address. Raises InputError for any other text."""
    found = _DATA_URL.match(url)
    if found is not None:
        if len(url) > MAX_IMAGE_BYTES * 3 // 2:
            raise InputError(f"the image has more than {MAX_IMAGE_BYTES} bytes: scale it down")
        try:
            content = base64.b64decode(url[found.end() :], validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError(f"the image's data: URL is not valid base64: {error}") from error
        return image_from_bytes(content, name=name)
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address or len(url) > MAX_URL_CHARACTERS or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError("an image must be a data: URL with a base64 image, or an http or https address")
    return Image(url=url, name=name)


def describe_image(image: Image) -> str:
    """Return the line that stands for an image where nobody can see it; it holds no part of the file."""
    facts = [image.name or (image.url if image.url else "unnamed"), image.media_type]
    size = image_size(image)
    if size is not None:
        facts.append(f"{size[0]} x {size[1]} pixels")
    return f"[Image: {', '.join(fact for fact in facts if fact)}; it is not shown to this model]"


def count_image_tokens(image: Image) -> int:
    """Return about how many tokens a provider counts for an image, at most `MAX_IMAGE_TOKENS`."""
    return count_size_tokens(image_size(image))


def count_size_tokens(size: tuple[int, int] | None) -> int:
    """Return about how many tokens a provider counts for an image of a size in pixels, which may be unknown."""
    if size is None:
        return MAX_IMAGE_TOKENS
    width, height = size
    scale = min(1.0, MAX_EDGE / max(width, height, 1))
    tokens = int(width * scale * height * scale / PIXELS_PER_TOKEN) + 1
    return max(MIN_IMAGE_TOKENS, min(tokens, MAX_IMAGE_TOKENS))


def image_size(image: Image) -> tuple[int, int] | None:
    """Return width and height in pixels, from the beginning of the file; None if it does not say, or for an address."""
    if not image.data:
        return None
    head = image.data[: _HEADER_BYTES // 3 * 4]
    try:
        content = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return None
    return read_size(content)


def find_media_type(content: bytes) -> str | None:
    """Return the media type of a file by its first bytes; None if it is in no known image format."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def read_size(content: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels from the beginning of an image file, None if they are not in it."""
    media_type = find_media_type(content)
    size: tuple[int, int] | None = None
    if media_type == "image/png" and content[12:16] == b"IHDR":
        size = _number(content[16:20]), _number(content[20:24])
    elif media_type == "image/gif":
        size = _number(content[6:8], "little"), _number(content[8:10], "little")
    elif media_type == "image/webp":
        size = _read_webp_size(content)
    elif media_type == "image/jpeg":
        size = _read_jpeg_size(content)
    return size if size is not None and min(size) > 0 else None


def _read_webp_size(content: bytes) -> tuple[int, int] | None:
    kind = content[12:16]
    if kind == b"VP8X":
        return _number(content[24:27], "little") + 1, _number(content[27:30], "little") + 1
    if kind == b"VP8L":
        bits = _number(content[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 ":
        return _number(content[26:28], "little") & 0x3FFF, _number(content[28:30], "little") & 0x3FFF
    return None


def _read_jpeg_size(content: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 <= len(content):
        if content[position] != 0xFF:
            return None
        marker = content[position + 1]
        if marker in _SOF_MARKERS:
            return _number(content[position + 7 : position + 9]), _number(content[position + 5 : position + 7])
        # Fill bytes, and markers without a segment.
        position += (
            1 if marker == 0xFF else 2 if marker == 1 or 0xD0 <= marker <= 0xD8 else 2 + _segment(content, position)
        )
    return None


def _segment(content: bytes, position: int) -> int:
    return max(2, _number(content[position + 2 : position + 4]))


def _number(data: bytes, order: str = "big") -> int:
    return int.from_bytes(data, "little" if order == "little" else "big")
