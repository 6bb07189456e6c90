"""Request body of Anthropic's Messages API. Source: Anthropic API reference, Create a Message."""

import re
from collections.abc import Sequence
from typing import Any

import orjson

from sophon.models.model import LAYERED_PURPOSES, ModelRequest
from sophon.models.providers.anthropic.messages import messages_to_json, split_system, used_tool_names
from sophon.models.providers.openai.request import native_tools, should_stream, to_json_bytes
from sophon.models.providers.request_parts import limit_output
from sophon.tools.tool import Tool, to_wire_name

MAX_CACHED_LISTS = 16
"""Lists of tools whose JSON one model caches; the cache is cleared when it is full."""

_EMPTY_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}

_ACCEPTS_TEMPERATURE = re.compile(
    r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:-[0-6])?(?:$|[-@](?:\d{6,}|latest)))"
)

MARK = {"type": "ephemeral"}
"""Value of `cache_control`: cached for five minutes from the last use."""

WRITE_COST_FACTOR = 1.25
"""Price of an input token that is written to the cache for five minutes, as a multiple of the input price."""


class RequestWriter:
    """Writer of one model's request bodies, with prompt-cache marks: see `mark_last_block`, `mark_messages`.

    The tools and the system prompt are marked in every request; the messages only in those of a conversation, which
    goes on, because nobody would read what a single question writes to the cache. Anthropic rejects more than four
    marks: one is on the tools, one on the system prompt, two are on the messages.
    """

    __slots__ = ("_accepts_temperature", "_model", "_tools_json")

    def __init__(self, model: str) -> None:
        self._model = model
        self._accepts_temperature = accepts_temperature(model)
        self._tools_json: dict[tuple[Tool, ...], orjson.Fragment] = {}

    def write(self, request: ModelRequest) -> bytes:
        """Return the body of a request."""
        system, rest = split_system(request.messages)
        messages = messages_to_json(rest, request.model)
        mark_last_block(system)
        if request.purpose in LAYERED_PURPOSES:
            mark_messages(messages)
        body: dict[str, Any] = {"model": self._model}
        tools = native_tools(request)
        if tools:
            body |= {"tools": self._list_json(tools), "tool_choice": {"type": request.tool_choice}}
        elif names := used_tool_names(rest):
            # A transcript with calls is rejected without tools, also if nothing may be called.
            body |= {"tools": [{"name": name, "input_schema": _EMPTY_SCHEMA} for name in names]}
            body["tool_choice"] = {"type": "none"}
        if system:
            body["system"] = system
        return to_json_bytes({**body, "messages": messages, **self._options(request)})

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        options: dict[str, Any] = {"max_tokens": limit_output(request)}
        if request.temperature is not None and self._accepts_temperature:
            options["temperature"] = request.temperature
        if should_stream(request):
            options["stream"] = True
        return options

    def _list_json(self, tools: Sequence[Tool]) -> orjson.Fragment:
        """Return the definitions in their order, made once for each list."""
        key = tuple(tools)
        data = self._tools_json.get(key)
        if data is None:
            if len(self._tools_json) >= MAX_CACHED_LISTS:
                self._tools_json.clear()
            definitions = [tool_to_json(tool) for tool in tools]
            mark_last_block(definitions)
            data = self._tools_json[key] = orjson.Fragment(
                orjson.dumps(definitions, default=str, option=orjson.OPT_NON_STR_KEYS)
            )
        return data


def tool_to_json(tool: Tool) -> dict[str, Any]:
    """Convert a tool's definition to JSON data, under the name that providers accept."""
    definition = tool.definition
    return {
        "name": to_wire_name(tool.name),
        "description": definition.get("description") or "",
        "input_schema": definition.get("parameters") or _EMPTY_SCHEMA,
    }


def accepts_temperature(model: str) -> bool:
    """Return whether a model accepts a temperature: Claude's since Opus 4.7 reject it; others have the usual one."""
    return "claude" not in model or _ACCEPTS_TEMPERATURE.search(model) is not None


def mark_last_block(blocks: Sequence[dict[str, Any]]) -> None:
    """Mark the last block, a tool or a text for example, if there is one.

    Anthropic caches the prompt up to each mark, in the order tools, system, messages, and looks for what earlier
    requests have cached at the marks of a request and at most twenty blocks before each. Writing costs a quarter more
    than reading anew. Source: Anthropic docs, Prompt caching.
    """
    if blocks:
        blocks[-1]["cache_control"] = MARK


def mark_messages(messages: Sequence[dict[str, Any]]) -> None:
    """Mark the end of the messages, and the end of the request before this one, which that has marked.

    The latter is the last message of the user before the last reply: a round with more calls than Anthropic looks back
    over finds it all the same.
    """
    ends = [index for index, message in enumerate(messages) if message["role"] == "user"]
    for index in ends[-2:]:
        mark_last_block(messages[index]["content"])
