"""Images of messages: which files and addresses are taken, their size and tokens, and what each API is sent."""

import base64
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import InputError
from sophon.images import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_TOKENS,
    Image,
    count_image_tokens,
    describe_image,
    find_media_type,
    image_from_bytes,
    image_from_url,
    read_size,
)
from sophon.messages import Message
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.providers.anthropic.request import RequestWriter as AnthropicWriter
from sophon.models.providers.ollama.request import OllamaOptions
from sophon.models.providers.ollama.request import RequestWriter as OllamaWriter
from sophon.models.providers.openai.request import RequestWriter as OpenAIWriter
from sophon.models.token_counter import TokenCounter
from sophon.services import Services
from tests.tables import table

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s2I", 13, b"IHDR", 640, 480)
GIF = b"GIF89a" + struct.pack("<2H", 640, 480)
JPEG_HEAD = b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"ab"
JPEG = JPEG_HEAD + b"\xff\xff\xc0" + struct.pack(">HB2H", 17, 8, 480, 640) + bytes(4)
WEBP = b"RIFF\0\0\0\0WEBP"
EXTENDED = WEBP + b"VP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
LOSSLESS = WEBP + b"VP8L" + bytes(4) + b"\x2f" + (639 | 479 << 14).to_bytes(4, "little")
LOSSY = WEBP + b"VP8 " + bytes(10) + struct.pack("<2H", 640, 480)
FILE, ADDRESS = image_from_bytes(PNG, name="cat.png"), image_from_url("https://example.org/cat.png")
NAMED = "[Image: cat.png, image/png, 640 x 480 pixels; it is not shown to this model]"
NAMED_ADDRESS = "[Image: https://example.org/cat.png; it is not shown to this model]"
SEEING = ModelInfo("m", "p", capabilities=frozenset({"vision"}))
BLIND = ModelInfo("m", "p")


@table(
    ("content", "media_type"),
    [
        (PNG, "image/png"),
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (EXTENDED, "image/webp"),
        (LOSSLESS, "image/webp"),
        (LOSSY, "image/webp"),
    ],
)
def test_format_and_size_are_read_from_the_file(content: bytes, media_type: str) -> None:
    assert (find_media_type(content), read_size(content)) == (media_type, (640, 480))
    assert image_from_bytes(content).media_type == media_type


@given(st.sampled_from([PNG[:8], GIF[:6], JPEG_HEAD, WEBP + b"VP8X", WEBP + b"VP8L", WEBP]), st.binary(max_size=64))
def test_any_file_has_a_size_or_none(head: bytes, rest: bytes) -> None:
    size = read_size(head + rest)
    assert size is None or min(size) > 0
    assert 85 <= count_image_tokens(image_from_bytes(head + rest)) <= MAX_IMAGE_TOKENS


@table(
    "url",
    [
        *("", "cat.png", "file:///etc/passwd", "ftp://h/x", "https://", "http://[", "data:image/png;base64,%%%"),
        *("https://h/a b", "https://h/\n", "https://h/" + "x" * 9000, "data:text/html;base64,PGI+"),
        *("data:image/png,x", "data:image/png;base64," + base64.b64encode(b"<html>").decode()),
    ],
)
def test_what_is_no_image_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="image"):
        image_from_url(url)


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="scale it down"):
        image_from_bytes(PNG + bytes(MAX_IMAGE_BYTES))


def test_a_data_url_is_its_file() -> None:
    assert image_from_url(FILE.address, name="cat.png") == FILE


@table(("width", "height", "tokens"), [(1, 1, 85), (640, 480, 410), (1000, 1000, 1334), (9000, 9000, 1600)])
def test_tokens_grow_with_the_pixels(width: int, height: int, tokens: int) -> None:
    content = PNG[:16] + struct.pack(">2I", width, height)
    assert count_image_tokens(image_from_bytes(content)) == tokens


def test_a_message_counts_its_images_and_comes_back_with_them() -> None:
    message = Message("user", "what is it?", images=(FILE, ADDRESS))
    assert Message.from_json(json.loads(json.dumps(message.to_json()))) == message
    counter = TokenCounter()
    assert counter.count_message(message) - counter.count_message(Message("user", "what is it?")) == 410 + 1600
    assert describe_image(FILE) == NAMED


def request(model: ModelInfo) -> ModelRequest:
    return ModelRequest([Message("user", "look", images=(FILE, ADDRESS)), Message("user", "well?")], [], model)


OPENAI_PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "look\n\nwell?"},
    {"type": "image_url", "image_url": {"url": FILE.address}},
    {"type": "image_url", "image_url": {"url": ADDRESS.url}},
]
ANTHROPIC_BLOCKS: list[dict[str, Any]] = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": FILE.data}},
    {"type": "image", "source": {"type": "url", "url": ADDRESS.url}},
    {"type": "text", "text": "look"},
    {"type": "text", "text": "well?", "cache_control": {"type": "ephemeral"}},
]
OLLAMA_MESSAGE = {"role": "user", "content": f"look\n\nwell?\n{NAMED_ADDRESS}", "images": [FILE.data]}
BOTH_NAMED = f"{NAMED}\n{NAMED_ADDRESS}"


def test_each_api_is_sent_images_in_its_form() -> None:
    [openai] = json.loads(OpenAIWriter("m").write(request(SEEING)))["messages"]
    assert openai["content"] == OPENAI_PARTS
    [anthropic] = json.loads(AnthropicWriter("m").write(request(SEEING)))["messages"]
    assert anthropic["content"] == ANTHROPIC_BLOCKS
    assert json.loads(OllamaWriter("m", OllamaOptions()).write(request(SEEING)))["messages"] == [OLLAMA_MESSAGE]


def test_a_model_without_vision_reads_their_names_also_after_one_that_saw_them() -> None:
    for writer in (OpenAIWriter("m"), OllamaWriter("m", OllamaOptions())):
        given_request = request(SEEING)
        writer.write(given_request)
        given_request.model = BLIND
        [message] = json.loads(writer.write(given_request))["messages"]
        assert message == {"role": "user", "content": f"look\n\nwell?\n{BOTH_NAMED}"}
    [message] = json.loads(AnthropicWriter("m").write(request(BLIND)))["messages"]
    assert [block["text"] for block in message["content"]] == [f"look\n{BOTH_NAMED}", "well?"]


def test_a_turn_takes_images_with_or_without_a_text_and_not_too_many() -> None:
    services = Services()
    assert services.turn("", images=[FILE]).messages[-1].images == (FILE,)
    with pytest.raises(InputError, match="21 images"):
        services.turn("look", images=[Image(url="https://h")] * 21)
