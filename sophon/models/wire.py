"""A request in the shape of OpenAI's chat completions, which most providers speak: pure conversion, no I/O.

Source: OpenAI API reference, Create chat completion.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelRequest
from sophon.tools.tool import Tool, wire_name

KNOWN_TOOLS = 4096
"""Tools whose JSON is kept by one model; beyond it is begun anew."""

_REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d))(?!.*chat)")


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where OpenAI-compatible servers differ: the field of the output limit, and whether a temperature may be given."""

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True


def dialect_of(model: str) -> Dialect:
    """OpenAI's reasoning models refuse `max_tokens` and any temperature; all others understand both."""
    return Dialect("max_completion_tokens", temperature=False) if _REASONING.search(model) else Dialect()


def message_json(message: Message) -> dict[str, Any]:
    """A message as plain data; tool names are the provider's."""
    content = _sendable(message.content)
    if message.tool_calls:
        calls = [_call_json(call) for call in message.tool_calls]
        return {"role": message.role, "content": content or None, "tool_calls": calls}
    if message.tool_call_id is not None:
        return {"role": message.role, "tool_call_id": message.tool_call_id, "content": content}
    return {"role": message.role, "content": content}


def message_bytes(message: Message) -> bytes:
    """A message as JSON, made once and kept with it, so that a long history costs next to nothing per round."""
    data = message.wire
    if data is None:
        data = dumped(message_json(message))
        object.__setattr__(message, "wire", data)
    return data


def tool_json(tool: Tool) -> dict[str, Any]:
    """A tool's definition as plain data, under the name that providers accept."""
    return {"type": "function", "function": {**tool.definition, "name": wire_name(tool.name)}}


class ToolTexts:
    """The JSON of tools, made once for each."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Tool, bytes] = {}

    def of(self, tool: Tool) -> bytes:
        """A tool's definition as JSON."""
        data = self._known.get(tool)
        if data is None:
            if len(self._known) >= KNOWN_TOOLS:
                self._known.clear()
            data = self._known[tool] = dumped(tool_json(tool))
        return data


def options(request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    """Everything of a request but its model, messages and tools.

    The output limit is never more than the model can write: some providers refuse a larger one.
    """
    most = request.model.max_output_tokens
    values: dict[str, Any] = {
        dialect.limit: request.max_tokens if most is None else min(request.max_tokens, most),
    }
    if request.tools and request.model.function_calling:
        values["tool_choice"] = request.tool_choice
    if request.temperature is not None and dialect.temperature:
        values["temperature"] = request.temperature
    if streams(request):
        values |= {"stream": True, "stream_options": {"include_usage": True}}
    return values


def streams(request: ModelRequest) -> bool:
    """Whether the text is wanted, and can come, in pieces."""
    return request.on_text is not None and request.model.streaming


def offered(request: ModelRequest) -> Sequence[Tool]:
    """The tools that go to the provider as such: none for a model without function calling."""
    return request.tools if request.model.function_calling else ()


def own_names(tools: Sequence[Tool]) -> dict[str, str]:
    """Our names of tools by the provider's."""
    return {wire_name(tool.name): tool.name for tool in tools}


def dumped(value: Mapping[str, Any]) -> bytes:
    """JSON."""
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


def _call_json(call: ToolCall) -> dict[str, Any]:
    function = {"name": wire_name(call.name), "arguments": call.canonical().decode()}
    return {"id": call.id, "type": "function", "function": function}


def _sendable(text: str) -> str:
    """Half of a surrogate pair, which no wire can carry, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
