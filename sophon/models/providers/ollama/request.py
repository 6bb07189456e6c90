"""Request body of Ollama's chat API. Source: Ollama API documentation, Generate a chat message."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Message, ToolCall
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.providers.openai.reasoning import fields_to_return
from sophon.models.providers.openai.request import (
    ToolJsonCache,
    native_tools,
    should_stream,
    to_json_bytes,
)
from sophon.models.providers.openai_turn_alternation import merge_messages
from sophon.models.providers.request_parts import arguments_to_json, limit_output
from sophon.models.providers.third_party_json import as_text
from sophon.tools.tool import to_wire_name

THINKING_FIELD = "thinking"
"""Field of a message with its reasoning."""


@dataclass(frozen=True, slots=True)
class OllamaOptions:
    """Options of the server that every request repeats; None leaves them to the server.

    `num_ctx` is the context window that the model is loaded with, in tokens; a longer prompt is truncated silently.
    `keep_alive_seconds` is the time that the model stays loaded after a request.
    """

    num_ctx: int | None = None
    keep_alive_seconds: float | None = None


class RequestWriter:
    """Writer of one model's request bodies."""

    __slots__ = ("_model", "_options", "_tool_json")

    def __init__(self, model: str, options: OllamaOptions) -> None:
        self._model = model
        self._options = options
        self._tool_json = ToolJsonCache()

    def write(self, request: ModelRequest) -> bytes:
        """Return the body of a request. The API has no `tool_choice`: where no tool may be called, none is sent."""
        body: dict[str, Any] = {"model": self._model}
        tools = native_tools(request)
        if tools and request.tool_choice != "none":
            body["tools"] = orjson.Fragment(self._tool_json.get_list_json(tools))
        body["messages"] = messages_to_json(merge_messages(request.messages), request.model)
        body["stream"] = should_stream(request)
        if self._options.keep_alive_seconds is not None:
            body["keep_alive"] = f"{self._options.keep_alive_seconds:g}s"
        return to_json_bytes(body | {"options": self._model_options(request)})

    def _model_options(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"num_predict": limit_output(request)}
        if self._options.num_ctx is not None:
            options["num_ctx"] = self._options.num_ctx
        if request.temperature is not None:
            options["temperature"] = request.temperature
        return options


def messages_to_json(messages: Sequence[Message], model: ModelInfo) -> list[dict[str, Any]]:
    """Convert messages; the model gets the reasoning of its own tool calls back, and the images if it sees them."""
    fields = fields_to_return(messages, model.id)
    names = {call.id: to_wire_name(call.name) for message in messages for call in message.tool_calls}
    return [
        _add_images(message, model)
        if message.images or message.documents
        else _message_to_json(message, names, fields.get(index, {}))
        for index, message in enumerate(messages)
    ]


def _add_images(message: Message, model: ModelInfo) -> dict[str, Any]:
    """Convert a message with images or documents. The API takes files of images only; the model reads of the others."""
    from sophon.models.providers.media_content import select_media  # lazy: few messages have images

    found = select_media(message, model, takes_addresses=False, takes_documents=False)
    data: dict[str, Any] = {"role": message.role, "content": as_text(found.text)}
    return data | {"images": [image.data for image in found.images]} if found.images else data


def _message_to_json(message: Message, names: Mapping[str, str], fields: Mapping[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {"role": message.role, "content": as_text(message.content)}
    if message.tool_calls:
        data["tool_calls"] = [_call_to_json(call) for call in message.tool_calls]
        if fields.get(THINKING_FIELD):
            data[THINKING_FIELD] = as_text(fields[THINKING_FIELD])
    elif message.tool_call_id is not None:
        # Templates of models name the tool; the id tells several calls of one tool apart.
        data |= {"tool_name": names.get(message.tool_call_id, ""), "tool_call_id": as_text(message.tool_call_id)}
    return data


def _call_to_json(call: ToolCall) -> dict[str, Any]:
    function = {"name": to_wire_name(call.name), "arguments": arguments_to_json(call)}
    return {"id": as_text(call.id), "function": function}
