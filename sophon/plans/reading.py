"""Finds the JSON of a plan in what a model wrote around it."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from sophon.errors import PlanError

LONGEST_TEXT = 200_000
"""Characters of an answer that are read at all; twenty steps need a fraction of it."""

_OBJECT = re.compile(r"\{(?=\s*[\"}])")
_ATTEMPTS = 64
"""Braces that may turn out to open no JSON before the search is given up: it bounds the work on hostile text."""

_DECODER = json.JSONDecoder()


def read_plan(text: str) -> Mapping[str, Any]:
    """The first JSON object in the text that has steps, or one in a field of it; fences and prose do not matter.

    With no such object the first JSON object is given, so that what it lacks can be named. Raises PlanError.
    """
    if len(text) > LONGEST_TEXT:
        raise PlanError([f"the answer has {len(text)} characters, and at most {LONGEST_TEXT} are read"])
    first: Mapping[str, Any] | None = None
    at = attempts = 0
    while attempts < _ATTEMPTS and (brace := _OBJECT.search(text, at)):
        found, at = _decode(text, brace.start())
        if found is None:
            attempts += 1
            continue
        for candidate in (found, *found.values()):
            if _is_object(candidate) and "steps" in candidate:
                return candidate
        first = found if first is None else first
    whole = _value(text)
    if first is None or not _is_object(whole or first):
        raise PlanError([_what_else(whole)])
    return first


def _decode(text: str, at: int) -> tuple[Mapping[str, Any] | None, int]:
    try:
        found, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or nested without end
        return None, at + 1
    return found, end


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict)


def _what_else(whole: object) -> str:
    if whole is None:
        return "there is no JSON object in the answer"
    kind = "a list" if isinstance(whole, list) else "a single value"
    return f"the plan must be a JSON object with a goal and steps, not {kind}"


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
