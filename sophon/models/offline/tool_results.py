"""Tool result parsing and display: remove fences, detect failures and edited calls, shorten long text."""

import re
from collections.abc import Mapping
from typing import Any, cast

import orjson

from sophon.models.offline.intent import CallFailure, CallResult, PlannedCall
from sophon.models.offline.language.english import ensure_full_stop
from sophon.tools.untrusted_text import unfence_text

MAX_SHOWN_CHARACTERS = 1500
"""Characters of one result that a reply shows."""
_MAX_INLINE_REASON = 300

_EDITED = re.compile(r"note: a person changed the arguments before approving; it ran with (\{[^\n]*\})\n")
_DENIED = re.compile(
    r"denied:|blocked by \w+ \(\w+\):|blocked: the check before it failed:"
    r"|error: (?:\S+ is of \w+ risk and nobody has approved|this call of \S+ is not the one)"
)
_FAILED = re.compile(r"error:")
_FAILURE_PREFIX = re.compile(r"\s*(?:denied|blocked|error):")
"""Prefixes that the chain gives such results. The error of a tool that reads external text is inside the fence; a
denial never is, so that external text cannot forge one."""


def parse_tool_result(call: PlannedCall, result: str, clause: str = "") -> CallResult:
    """Parse the result of a call; if an approver edited the arguments, the returned call has the edited ones."""
    edited = _EDITED.match(result)
    if edited is not None:
        call, result = PlannedCall(call.tool, _parse_arguments(edited[1]) or call.arguments), result[edited.end() :]
    return CallResult(call, unfence_text(result), classify_call_failure(result), clause, edited is not None)


def classify_call_failure(result: str) -> CallFailure:
    """Return whether the prefix of a result says that the call was denied or failed; "" for neither."""
    if _DENIED.match(result):
        return "denied"
    return "failed" if _FAILED.match(unfence_text(result)) else ""


def format_failure_reason(text: str) -> str:
    """Return why a call was denied or failed, without the prefix: as the end of a sentence, or as a block."""
    text = _FAILURE_PREFIX.sub("", text, count=1).strip()
    return ensure_full_stop(text) if "\n" not in text and len(text) < _MAX_INLINE_REASON else f"\n{format_block(text)}"


def format_block(text: str) -> str:
    """Return a text as a fenced block; a long one is shortened with a note."""
    text = text.strip("\n")
    if len(text) > MAX_SHOWN_CHARACTERS:
        hidden = len(text) - MAX_SHOWN_CHARACTERS
        text = f"{text[:MAX_SHOWN_CHARACTERS].rstrip()}\n[{hidden} more characters are not shown]"
    fence = "```" if "```" not in text else "~~~"
    return f"{fence}\n{text or '(nothing)'}\n{fence}"


def _parse_arguments(text: str) -> Mapping[str, Any] | None:
    try:
        data: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("Mapping[str, Any]", data) if isinstance(data, dict) else None
