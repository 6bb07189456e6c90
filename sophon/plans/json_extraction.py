"""Extract the JSON object of a plan from a model's answer."""

import json
from collections.abc import Mapping
from typing import Any, TypeGuard

from sophon._python.lazy_pattern import lazy_pattern
from sophon.plans.plan import PlanError

MAX_ANSWER_CHARACTERS = 200_000
"""Maximum characters of an answer; twenty steps need a fraction of it."""

_OBJECT_START = lazy_pattern(r"\{(?=\s*[\"}])")
_MAX_ATTEMPTS = 64
"""Braces that may fail to open valid JSON before the search ends; bounds the work on hostile text."""

_DECODER = json.JSONDecoder()


def extract_plan_json(text: str) -> Mapping[str, Any]:
    """Return the first JSON object that has steps, itself or in one of its fields; ignores fences and prose.

    Without such an object the first JSON object is returned, so that the caller can report what is missing. Raises
    PlanError if there is none.
    """
    if len(text) > MAX_ANSWER_CHARACTERS:
        raise PlanError([f"the answer has {len(text)} characters, and at most {MAX_ANSWER_CHARACTERS} are read"])
    first: Mapping[str, Any] | None = None
    at = attempts = 0
    while attempts < _MAX_ATTEMPTS and (brace := _OBJECT_START.search(text, at)):
        found, at = _decode(text, brace.start())
        if found is None:
            attempts += 1
            continue
        for candidate in (found, *found.values()):
            if _is_object(candidate) and "steps" in candidate:
                return candidate
        first = found if first is None else first
    whole = _parse_whole(text)
    if first is None or not _is_object(whole or first):
        raise PlanError([_describe_problem(whole)])
    return first


def _decode(text: str, at: int) -> tuple[Mapping[str, Any] | None, int]:
    try:
        found, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):  # invalid JSON, a number of thousands of digits, or nested too deeply
        return None, at + 1
    return found, end


def _is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict)


def _describe_problem(whole: object) -> str:
    if whole is None:
        return "there is no JSON object in the answer"
    kind = "a list" if isinstance(whole, list) else "a single value"
    return f"the plan must be a JSON object with a goal and steps, not {kind}"


def _parse_whole(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
