"""Any other tool, when the clause calls it by its name: `use send_mail with to=ada@example.org, body="Hello"`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from sophon.models.offline.display import block
from sophon.models.offline.skill import Ask, Finding, Skill, Wish
from sophon.models.offline.words import unquoted
from sophon.tools.tool import Risk, Tool

_CALL = re.compile(
    r"(?:use|call|invoke|run|try|ask)(?: the)?(?: tool)? [`'\"]?(?P<tool>[\w.-]+)[`'\"]?(?: tool)?"
    r"(?:,? (?:with|for|on|to))?(?P<rest>[ :(].*)?",
    re.IGNORECASE | re.DOTALL,
)
_PAIR = re.compile(r"([A-Za-z_]\w{0,40}) ?= ?(\"[^\"]*\"|'[^']*'|[^,\s]+)")


def _match(ask: Ask) -> Wish | None:
    found = _CALL.fullmatch(ask.clause.rstrip("?!"))
    tool = ask.tools.get(found["tool"].rstrip(".")) if found else None
    if found is None or tool is None:
        return None
    arguments = _arguments(tool, (found["rest"] or "").strip(" :()."))
    return Wish(tool.name, arguments)


def _arguments(tool: Tool, text: str) -> Mapping[str, Any]:
    """A JSON object, name=value pairs, or the whole text for the one parameter that is required.

    What does not fit is left to the tool's own check, whose words come back as the result.
    """
    if text.startswith("{"):
        try:
            data = orjson.loads(text)
        except orjson.JSONDecodeError:
            data = None
        if isinstance(data, dict):
            return cast(Mapping[str, Any], data)
    pairs = {match[1]: _value(match[2]) for match in _PAIR.finditer(text)}
    if pairs:
        return pairs
    required: Sequence[Any] = tool.parameters.get("required") or ()
    return {str(name): unquoted(text) for name in required} if text and len(required) == 1 else {}


def _value(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


NAMED = Skill(
    tool="",
    group="",
    match=_match,
    tell=lambda finding: f"{finding.wish.tool} gave:\n{block(finding.text)}",
    deed=lambda wish: f"use {wish.tool}",
    risk=Risk.LOW,
)


def tell_any(finding: Finding) -> str:
    """What to say of a result that no row of the table knows."""
    return NAMED.tell(finding)
