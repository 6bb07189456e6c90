"""Explicit call intent: any tool by its name, as in `use send_mail with to=ada@example.org, body="Hello"`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import strip_quotes
from sophon.models.offline.tool_results import format_block
from sophon.tools.tool import Risk, Tool

_CALL = re.compile(
    r"(?:use|call|invoke|run|try|ask)(?: the)?(?: tool)? [`'\"]?(?P<tool>[\w.-]+)[`'\"]?(?: tool)?"
    r"(?:,? (?:with|for|on|to))?(?P<rest>[ :(].*)?",
    re.IGNORECASE | re.DOTALL,
)
_PAIR = re.compile(r"([A-Za-z_]\w{0,40}) ?= ?(\"[^\"]*\"|'[^']*'|[^,\s]+)")


def _match(intent_input: IntentInput) -> PlannedCall | None:
    found = _CALL.fullmatch(intent_input.clause.rstrip("?!"))
    tool = intent_input.tools.get(found["tool"].rstrip(".")) if found else None
    if found is None or tool is None:
        return None
    arguments = _parse_arguments(tool, (found["rest"] or "").strip(" :()."))
    return PlannedCall(tool.name, arguments)


def _parse_arguments(tool: Tool, text: str) -> Mapping[str, Any]:
    """Parse a JSON object, name=value pairs, or the whole text as the only required parameter.

    Invalid arguments are left to the tool's validation, whose error becomes the result.
    """
    if text.startswith("{"):
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError:
            data = None
        if isinstance(data, dict):
            return cast(Mapping[str, Any], data)
    pairs = {match[1]: _parse_value(match[2]) for match in _PAIR.finditer(text)}
    if pairs:
        return pairs
    required: Sequence[Any] = tool.parameters.get("required") or ()
    return {str(name): strip_quotes(text) for name in required} if text and len(required) == 1 else {}


def _parse_value(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


EXPLICIT_CALL = Intent(
    tool="",
    group="",
    match_clause=_match,
    describe_result=lambda result: f"{result.call.tool} returned:\n{format_block(result.text)}",
    describe_call=lambda call: f"use {call.tool}",
    risk=Risk.LOW,
)


def describe_any_result(result: CallResult) -> str:
    """Describe the result of a tool without an intent of its own."""
    return EXPLICIT_CALL.describe_result(result)
