"""Check of what a model of one's own returned: types that nothing behind the gateway could use are an error here."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from sophon.messages import ToolCall
from sophon.models.model import ModelResponse
from sophon.models.reply_size import MAX_TOOL_CALLS, ReplySize
from sophon.security import redact_and_cut

MAX_SHOWN = 80
"""Characters of a wrong value that its error shows."""

MAX_DEPTH = 100
"""Nesting of arguments beyond which the JSON writers of the store fail."""


def check_response(value: object) -> ModelResponse:
    """Return the response with clean tool calls. Raises TypeError, which names the field, for a type it cannot have.

    Arguments that are no JSON object make the call malformed, so that the model is told and the turn can be saved. The
    usage is read by the accounting, and a finish reason is normalised.
    """
    if type(value) is ModelResponse and _is_plain(value):
        return value
    if not isinstance(value, ModelResponse):
        raise TypeError(f"the model returned {_show(value)}, which is not a ModelResponse")
    for name, text in (("text", value.text), ("reasoning", value.reasoning)):
        if not isinstance(cast(object, text), str):
            raise TypeError(f"the model returned a ModelResponse whose {name} is {_show(text)}, no text")
    calls = cast(object, value.tool_calls)
    if not isinstance(calls, list | tuple):
        raise TypeError(f"the model returned a ModelResponse whose tool_calls are {_show(calls)}, no list")
    if not calls and isinstance(calls, list) and value.reasoning_fields == {}:
        return value
    given = cast("list[object]", calls)
    checked = [_check_call(call) for call in given]
    has_fields = isinstance(cast(object, value.reasoning_fields), Mapping) and _is_json(value.reasoning_fields)
    if has_fields and isinstance(calls, list) and all(map(_is_same, checked, given)):
        return value
    return replace(value, tool_calls=checked, reasoning_fields=value.reasoning_fields if has_fields else {})


def check_reply_size(response: ModelResponse, max_bytes: int) -> None:
    """Check the size of a whole reply: text, reasoning, tool calls. Raises ResponseTooLarge.

    An adapter has enforced the limit while it read; a model of one's own may have returned anything.
    """
    if not response.reasoning_fields and response.reasoning == "" and len(response.tool_calls) <= MAX_TOOL_CALLS:
        # A character takes four bytes at most.
        most = 8 * _count_at_most(response) if response.tool_calls else 4 * len(response.text)
        if most <= max_bytes:
            return
    size = ReplySize(max_bytes)
    size.add(response.text)
    size.add(response.reasoning)
    ReplySize.check_call_count(len(response.tool_calls))
    for call in response.tool_calls:
        size.add(call.name)
        size.add(call.id)
        size.add_value(call.arguments)
    if response.reasoning_fields:
        size.add_value(response.reasoning_fields)


def _is_plain(response: ModelResponse) -> bool:
    """Return whether a response is already as it must be, which nearly every one is: the rest is looked at closely."""
    if not (type(response.text) is str and type(response.reasoning) is str and response.reasoning_fields == {}):
        return False
    return type(response.tool_calls) is list and all(map(_is_plain_call, response.tool_calls))


def _is_plain_call(call: object) -> bool:
    if type(call) is not ToolCall or type(call.name) is not str or type(call.id) is not str:
        return False
    arguments: Mapping[Any, object] = call.arguments
    kind = type(arguments)
    if kind is not dict:
        return False
    for key, value in arguments.items():  # noqa: SIM110 - a generator costs more than the check
        if type(key) is not str or type(value) not in _PLAIN_TYPES:
            return False
    return True


_PLAIN_TYPES = frozenset({str, int, bool, type(None)})


def _count_at_most(response: ModelResponse) -> int:
    """Return a number of which eight times is no less than the bytes, and which is no less than the pieces.

    A character takes four bytes at most, and a value in JSON, which counts eight, has at least one character.
    """
    count = len(response.text)
    for call in response.tool_calls:
        count += len(call.name) + len(call.id) + len(call.canonical_arguments())
    return count


def _check_call(call: object) -> ToolCall:
    if not isinstance(call, ToolCall):
        raise TypeError(f"the model returned {_show(call)} among its tool_calls, which is not a ToolCall")
    name, call_id, arguments = cast("tuple[object, object, object]", (call.name, call.id, call.arguments))
    if not isinstance(name, str):
        raise TypeError(f"the model returned a ToolCall whose name is {_show(name)}, no text")
    if not isinstance(call_id, str):
        # LlmInvoker gives an id to a call that has none.
        call = replace(call, id="" if call_id is None else str(call_id)[:MAX_SHOWN])
    if not isinstance(arguments, Mapping):
        malformed = f"the arguments are not a JSON object: {_show(arguments)}"
        return replace(call, arguments={}, malformed=call.malformed or malformed)
    if not _is_json(cast("Mapping[object, object]", arguments)):
        malformed = "the arguments contain a value that JSON does not have"
        return replace(call, arguments={}, malformed=call.malformed or malformed)
    return call


def _is_same(one: object, other: object) -> bool:
    return one is other


def _is_json(value: object, depth: int = 0) -> bool:
    if value is None or isinstance(value, str | bool | int):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if depth >= MAX_DEPTH:
        return False
    if isinstance(value, Mapping):
        for key, each in cast("Mapping[Any, object]", value).items():
            if not isinstance(key, str) or not (isinstance(each, str) or _is_json(each, depth + 1)):
                return False
        return True
    return isinstance(value, list | tuple) and all(_is_json(each, depth + 1) for each in cast("list[object]", value))


def _show(value: object) -> str:
    try:
        return redact_and_cut(repr(value), MAX_SHOWN)
    except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything
        return f"an object of the type {type(value).__name__}"
