"""What a tool gave, made fit to be read: fences taken off, trouble and changed calls recognised, long text cut."""

import re
from collections.abc import Mapping
from typing import Any, cast

import orjson

from sophon.models.offline.skill import Finding, Trouble, Wish
from sophon.models.offline.words import ended
from sophon.tools.fencing import unfence

LONGEST_SHOWN = 1500
"""Characters of one result that an answer shows."""
_LONGEST_REASON = 300

_EDITED = re.compile(r"note: a person changed the arguments before approving; it ran with (\{[^\n]*\})\n")
_DENIED = re.compile(r"denied:|error: (?:\S+ is of \w+ risk and nobody has approved|this call of \S+ is not the one)")
_FAILED = re.compile(r"error:")
_BEGINNING = re.compile(r"\s*(?:denied|error):")
"""How the chain begins such results. An error of a tool that works with text from outside stands inside the fence; a
refusal never does, so that no page can claim one."""


def found(wish: Wish, result: str, clause: str = "") -> Finding:
    """What a result says about a wish; the wish is the one that ran, if a person changed it before approving."""
    edited = _EDITED.match(result)
    if edited is not None:
        wish, result = Wish(wish.tool, _arguments(edited[1]) or wish.arguments), result[edited.end() :]
    return Finding(wish, unfence(result), trouble(result), clause, edited is not None)


def trouble(result: str) -> Trouble:
    """Whether a result's first words say that the call was refused or went wrong."""
    if _DENIED.match(result):
        return "denied"
    return "failed" if _FAILED.match(unfence(result)) else ""


def reason(text: str) -> str:
    """Why a call was refused or failed, without the word that it begins with: in the sentence, or as a block."""
    text = _BEGINNING.sub("", text, count=1).strip()
    return ended(text) if "\n" not in text and len(text) < _LONGEST_REASON else f"\n{block(text)}"


def block(text: str) -> str:
    """A text as a fenced block, cut with a remark when it is long."""
    text = text.strip("\n")
    if len(text) > LONGEST_SHOWN:
        text = f"{text[:LONGEST_SHOWN].rstrip()}\n[{len(text) - LONGEST_SHOWN} more characters are not shown]"
    fence = "```" if "```" not in text else "~~~"
    return f"{fence}\n{text or '(nothing)'}\n{fence}"


def _arguments(text: str) -> Mapping[str, Any] | None:
    try:
        data: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return cast("Mapping[str, Any]", data) if isinstance(data, dict) else None
