"""Request body of OpenAI's chat completions API, which most providers accept: pure conversion, no I/O.

Source: OpenAI API reference, Create chat completion.
"""

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import Any

import orjson

from sophon.messages import Message, ToolCall
from sophon.models.model import ModelInfo, ModelRequest
from sophon.models.providers.openai.dialect import OpenAIDialect, ToolSchema, dialect_for_model
from sophon.models.providers.openai.reasoning import CALL_FIELDS, FILLING, RETURNED_TEXT_FIELD, fields_to_return
from sophon.models.providers.openai.tool_schema import to_openapi_function, without_meta_keywords
from sophon.models.providers.openai_turn_alternation import alternation_class, merge_messages
from sophon.tools.tool import Tool, to_wire_name

MAX_CACHED_TOOLS = 4096
"""Tools whose JSON one model caches; the cache is cleared when it is full."""
MAX_CACHED_LISTS = 16
"""Lists of tools whose JSON one model caches; a hundred tools have about 50 KB."""


def message_to_json(
    message: Message, model: ModelInfo | None = None, dialect: OpenAIDialect | None = None
) -> dict[str, Any]:
    """Convert a message to JSON data; tool names are in the provider's form. A `model` gets the images and documents
    that it can take, in the form of its `dialect`.
    """
    if message.images or message.documents:
        return {"role": message.role, "content": _content_with_media(message, model, dialect)}
    content = _replace_lone_surrogates(message.content)
    if message.tool_calls:
        calls = [_tool_call_to_json(call) for call in message.tool_calls]
        return {"role": message.role, "content": content or None, "tool_calls": calls}
    if message.tool_call_id is not None:
        return {"role": message.role, "tool_call_id": message.tool_call_id, "content": content}
    return {"role": message.role, "content": content}


def message_to_json_bytes(message: Message) -> bytes:
    """Return a message as JSON bytes, without images and documents; cached on it: a long history is serialised once."""
    data = message.wire
    if data is None:
        data = to_json_bytes(message_to_json(message))
        object.__setattr__(message, "wire", data)
    return data


def prepare_message(message: Message) -> None:
    """Make all that a request needs of a message, which is cached on it; may be called in another thread."""
    message_to_json_bytes(message)
    alternation_class(message)


def messages_to_json_bytes(
    messages: Sequence[Message], model: ModelInfo, dialect: OpenAIDialect | None = None
) -> list[bytes]:
    """Return the messages as JSON bytes; the model gets the reasoning of its own tool calls back, and the images and
    documents that it can take.
    """
    data = [message.wire or message_to_json_bytes(message) for message in messages]
    for index in find_media(messages):
        data[index] = to_json_bytes(message_to_json(messages[index], model, dialect))
    returned = fields_to_return(messages, model.id)
    if dialect is not None and dialect.fills_reasoning:
        filled = set(find_tool_turn_replies(messages)).difference(find_media(messages))
        returned = {index: {RETURNED_TEXT_FIELD: FILLING} | returned.get(index, {}) for index in filled}
    for index, fields in returned.items():
        if dialect is None or dialect.accepts_reasoning:
            data[index] = to_json_bytes(add_reasoning_fields(message_to_json(messages[index]), fields))
    return data


def find_tool_turn_replies(messages: Sequence[Message]) -> Sequence[int]:
    """Return the indexes of all replies in turns with tool calls: the answer that ends such a turn belongs to it."""
    found: list[int] = []
    replies: list[int] = []
    calls = False
    for index, message in enumerate(messages):
        if message.role == "user" and not message.origin:
            replies, calls = [], False
        elif message.role == "assistant":
            replies.append(index)
            calls = calls or bool(message.tool_calls)
            if calls:
                found += replies
                replies = []
    return found


def add_reasoning_fields(message: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with its reasoning, and each of its tool calls with what came with that call."""
    extras = fields.get(CALL_FIELDS)
    own = {name: value for name, value in fields.items() if name != CALL_FIELDS}
    if extras is None:
        return message | own
    nothing: dict[str, Any] = {}
    pairs: Iterable[tuple[dict[str, Any], dict[str, Any]]] = zip_longest(
        message["tool_calls"], extras, fillvalue=nothing
    )
    calls = [call | extra for call, extra in pairs]
    return message | own | {"tool_calls": calls}


def tool_to_json(tool: Tool, schema: ToolSchema = "all") -> dict[str, Any]:
    """Convert a tool's definition to JSON data, under the name and with the keywords that the provider accepts."""
    function = {**tool.definition, "name": to_wire_name(tool.name)}
    if schema == "openapi":
        function = to_openapi_function(function)
    elif schema == "no meta keywords":
        function = without_meta_keywords(function)
    return {"type": "function", "function": function}


class ToolJsonCache:
    """Cache of the JSON of tool definitions: of each tool, and of the lists that requests offer.

    The definitions of a list stand in the list's order, and equal lists give the same bytes, so that a provider's
    prompt cache finds them again.
    """

    __slots__ = ("_json_by_list", "_json_by_tool", "_schema")

    def __init__(self, schema: ToolSchema = "all") -> None:
        self._schema: ToolSchema = schema
        self._json_by_tool: dict[Tool, bytes] = {}
        self._json_by_list: dict[tuple[Tool, ...], bytes] = {}

    def get_json(self, tool: Tool) -> bytes:
        """Return a tool's definition as JSON bytes."""
        data = self._json_by_tool.get(tool)
        if data is None:
            if len(self._json_by_tool) >= MAX_CACHED_TOOLS:
                self._json_by_tool.clear()
            data = self._json_by_tool[tool] = to_json_bytes(tool_to_json(tool, self._schema))
        return data

    def get_list_json(self, tools: Sequence[Tool]) -> bytes:
        """Return the definitions of several tools as a JSON array."""
        key = tuple(tools)
        data = self._json_by_list.get(key)
        if data is None:
            if len(self._json_by_list) >= MAX_CACHED_LISTS:
                self._json_by_list.clear()
            data = self._json_by_list[key] = b"[%b]" % b",".join(map(self.get_json, tools))
        return data


MAX_STEP_MESSAGES = 500
"""Messages up to which a body is written without a pause: about 0.5 ms."""


class RequestWriter:
    """Writer of one model's request bodies: joins the JSON of messages and tools, which is made once for each.

    What is the same in the next request of a conversation comes first. `has_cache_key`: the provider accepts
    `prompt_cache_key`, by which it finds requests that begin alike; other servers reject unknown fields. The key is a
    salted hash of the session's id, other than that in the next process.
    """

    __slots__ = ("_cache_salt", "_dialect", "_model_json", "_tool_json")

    def __init__(self, model: str, *, has_cache_key: bool = False, dialect: OpenAIDialect | None = None) -> None:
        self._cache_salt = secrets.token_bytes(16) if has_cache_key else None
        self._dialect = dialect or dialect_for_model(model)
        self._model_json = orjson.dumps(model)
        self._tool_json = ToolJsonCache(self._dialect.tool_schema)

    def write(self, request: ModelRequest) -> bytes:
        """Return the body of a request."""
        return self._join(
            request, messages_to_json_bytes(merge_messages(request.messages), request.model, self._dialect)
        )

    async def write_in_steps(self, request: ModelRequest) -> bytes:
        """Return the same body; behind a long history the event loop runs between two looks at its messages."""
        if len(request.messages) <= MAX_STEP_MESSAGES:
            return self.write(request)
        merged = merge_messages(request.messages)
        await asyncio.sleep(0)
        messages = messages_to_json_bytes(merged, request.model, self._dialect)
        await asyncio.sleep(0)
        return self._join(request, messages)

    def _join(self, request: ModelRequest, messages: list[bytes]) -> bytes:
        pieces = [b'{"model":', self._model_json]
        if tools := native_tools(request):
            pieces += [b',"tools":', self._tool_json.get_list_json(tools)]
        options = to_json_bytes({**build_request_options(request, self._dialect), **self._cache_key(request)})
        pieces.append(b',"messages":[')
        # One join: a long history is copied once.
        first, last = b"".join(pieces), b"]," + options[1:]
        if not messages:
            return first + last
        messages[0] = first + messages[0]
        messages[-1] += last
        return b",".join(messages)

    def _cache_key(self, request: ModelRequest) -> Mapping[str, str]:
        if self._cache_salt is None or not request.session_id:
            return {}
        name = request.session_id.encode("utf-8", "replace")
        return {"prompt_cache_key": blake2b(name, digest_size=16, key=self._cache_salt).hexdigest()}


def build_request_options(request: ModelRequest, dialect: OpenAIDialect) -> dict[str, Any]:
    """Return the fields of the request body other than model, messages and tools.

    The output limit is at most the model's maximum, because some providers reject a larger one.
    """
    model_limit = request.model.max_output_tokens
    values: dict[str, Any] = {
        dialect.output_limit_field: request.max_tokens if model_limit is None else min(request.max_tokens, model_limit),
    }
    if request.tools and request.model.function_calling:
        values["tool_choice"] = request.tool_choice
    if request.temperature is not None and dialect.accepts_temperature:
        values["temperature"] = request.temperature
    if should_stream(request):
        values["stream"] = True
        if dialect.accepts_stream_options:
            values["stream_options"] = {"include_usage": True}
    return values


def should_stream(request: ModelRequest) -> bool:
    """Return whether to stream: the caller passed `on_text`, and the model supports streaming."""
    return request.on_text is not None and request.model.streaming


def native_tools(request: ModelRequest) -> Sequence[Tool]:
    """Return the tools to send to the provider: none for a model without function calling."""
    return request.tools if request.model.function_calling else ()


def tool_names_by_wire_name(tools: Sequence[Tool]) -> dict[str, str]:
    """Return provider tool name -> registered tool name."""
    return {to_wire_name(tool.name): tool.name for tool in tools}


def to_json_bytes(value: Mapping[str, Any]) -> bytes:
    """Serialise to JSON bytes; non-string keys are allowed, and unknown types are converted with `str`."""
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


def find_media(messages: Sequence[Message]) -> Sequence[int]:
    """Return the indexes of the messages with images or documents."""
    return [index for index, message in enumerate(messages) if message.images or message.documents]


def _content_with_media(
    message: Message, model: ModelInfo | None, dialect: OpenAIDialect | None
) -> str | list[dict[str, Any]]:
    from sophon.models.providers.media_content import select_media  # lazy: few messages have images

    data_urls_only = dialect is not None and dialect.takes_data_urls_only
    found = select_media(message, model, takes_addresses=not data_urls_only)
    text = _replace_lone_surrogates(found.text)
    if not found.images and not found.documents:
        return text
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    parts += [_image_part(image.address) for image in found.images]
    if data_urls_only:
        return [*parts, *(_image_part(document.address) for document in found.documents)]
    files = ({"filename": each.name, "file_data": each.address} for each in found.documents)
    return [*parts, *({"type": "file", "file": file} for file in files)]


def _image_part(address: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": address}}


def _tool_call_to_json(call: ToolCall) -> dict[str, Any]:
    function = {"name": to_wire_name(call.name), "arguments": call.canonical_arguments().decode()}
    return {"id": call.id, "type": "function", "function": function}


def _replace_lone_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, with question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
