"""Conversion of a conversation to the messages of Anthropic's Messages API: pure, no I/O.

User and assistant alternate, so that consecutive messages of one side become the blocks of one message; results of
tools are blocks of a user message, before its text; blank texts are left out, because they are rejected. Source:
Anthropic API reference, Create a Message.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelInfo
from sophon.models.providers.anthropic.reasoning import arrange_blocks
from sophon.models.providers.openai.reasoning import fields_to_return
from sophon.models.providers.request_parts import arguments_to_json
from sophon.models.providers.third_party_json import as_text
from sophon.tools.tool import to_wire_name

if TYPE_CHECKING:
    from sophon.documents import Document
    from sophon.images import Image

FIRST_MESSAGE = "[The conversation continues]"
"""Text of the user that stands before a reply at the beginning, which is rejected there."""

ERROR_PREFIX = "error:"
"""Beginning of the result of a call that failed."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


def split_system(messages: Sequence[Message]) -> tuple[list[dict[str, Any]], Sequence[Message]]:
    """Return the system messages at the beginning as text blocks, and the other messages."""
    count = 0
    while count < len(messages) and messages[count].role == "system":
        count += 1
    blocks = [_text_block(message.content) for message in messages[:count] if not _is_blank(message.content)]
    return blocks, messages[count:]


def messages_to_json(messages: Sequence[Message], model: ModelInfo) -> list[dict[str, Any]]:
    """Convert the messages after the system prompt; a later system message becomes text of the user.

    The model gets the thinking of its own tool calls back, and the images and documents that it can take.
    """
    fields = fields_to_return(messages, model.id)
    converted: list[dict[str, Any]] = []
    for index, message in enumerate(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = (
            _blocks_with_media(message, model)
            if message.images or message.documents
            else _content_blocks(message, fields.get(index))
        )
        if not blocks:
            continue
        if not converted and role == "assistant":
            converted.append({"role": "user", "content": [_text_block(FIRST_MESSAGE)]})
        if converted and converted[-1]["role"] == role:
            converted[-1]["content"] += blocks
        else:
            converted.append({"role": role, "content": blocks})
    return converted


def call_id_to_wire(call_id: str) -> str:
    """Return a call's id in the form that is accepted; another provider's id keeps its difference from all others."""
    if _CALL_ID.fullmatch(call_id):
        return call_id
    digest = blake2b(call_id.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{re.sub('[^A-Za-z0-9_-]', '_', call_id)[:64]}_{digest}"


def used_tool_names(messages: Sequence[Message]) -> list[str]:
    """Return the names of the tools that were called, as the provider knows them, in the order of their first calls."""
    return list(dict.fromkeys(to_wire_name(call.name) for message in messages for call in message.tool_calls))


def _content_blocks(message: Message, fields: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if message.role == "assistant":
        return arrange_blocks(as_text(message.content), list(map(_call_block, message.tool_calls)), fields)
    if message.tool_call_id is not None:
        return [_result_block(message.tool_call_id, message.content)]
    return [] if _is_blank(message.content) else [_text_block(message.content)]


def _blocks_with_media(message: Message, model: ModelInfo) -> list[Mapping[str, Any]]:
    """Return the documents and images of a message and then its text, which names those that the model cannot take."""
    from sophon.models.providers.media_content import select_media  # lazy: few messages have images

    found = select_media(message, model)
    text = [] if _is_blank(found.text) else [_text_block(found.text)]
    return [*map(_document_block, found.documents), *map(_image_block, found.images), *text]


def _document_block(document: "Document") -> dict[str, Any]:
    source = {"type": "base64", "media_type": document.media_type, "data": document.data}
    return {"type": "document", "source": source, "title": as_text(document.name)}


def _image_block(image: "Image") -> dict[str, Any]:
    source = (
        {"type": "url", "url": image.url}
        if image.url
        else {"type": "base64", "media_type": image.media_type, "data": image.data}
    )
    return {"type": "image", "source": source}


def _call_block(call: ToolCall) -> dict[str, Any]:
    name, given = to_wire_name(call.name), arguments_to_json(call)
    return {"type": "tool_use", "id": call_id_to_wire(call.id), "name": name, "input": given}


def _result_block(call_id: str, text: str) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id_to_wire(call_id)}
    if not _is_blank(text):
        block["content"] = as_text(text)
    return block | {"is_error": True} if text.startswith(ERROR_PREFIX) else block


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": as_text(text)}


def _is_blank(text: str) -> bool:
    return not text or text.isspace()
