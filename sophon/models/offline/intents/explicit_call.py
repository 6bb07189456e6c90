"""Explicit call intent: any tool by its name, as in `use send_mail with to=ada@example.org, body="Hello"`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from sophon.models.offline.intent import Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import strip_quotes
from sophon.models.offline.tool_results import format_block
from sophon.tools.tool import Risk, Tool

_CALL = re.compile(
    r"(?:use|call|invoke|run|try|ask)(?: the)?(?: tool)? [`'\"]?(?P<tool>[\w.-]+)[`'\"]?(?: tool)?"
    r"(?:,? (?:with|for|on|to))?(?P<rest>[ :(].*)?",
    re.IGNORECASE | re.DOTALL,
)
_PAIR = re.compile(r"([A-Za-z_]\w{0,40}) ?= ?(\"[^\"]*\"|'[^']*'|[^,\s]+)")

_GROUP = re.compile(r"([^;()]+?) \(([^()]*)\)(?:; |\.|$)")
"""A group of tools in the description of `load_tools`, and the names of its tools."""


def _match(intent_input: IntentInput) -> PlannedCall | None:
    found = _CALL.fullmatch(intent_input.clause.rstrip("?!"))
    if found is None:
        return None
    tool = intent_input.tools.get(found["tool"].rstrip("."))
    if tool is None:
        return _load_group_of(found["tool"].rstrip("."), intent_input.tools)
    arguments = _parse_arguments(tool, (found["rest"] or "").strip(" :()."))
    return PlannedCall(tool.name, arguments)


def _load_group_of(name: str, tools: Mapping[str, Tool]) -> PlannedCall | None:
    """Return the call that loads the group of a tool, None if `load_tools` is not offered or names no such tool."""
    loader = tools.get("load_tools")
    groups = _GROUP.findall(loader.description.partition(" Groups: ")[2]) if loader is not None else []
    return next((PlannedCall("load_tools", {"group": g}) for g, names in groups if name in names.split(", ")), None)


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
