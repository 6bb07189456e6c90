"""Check of the functions among a tool's traits: called with what they will be given, and never awaited."""

import inspect
from collections.abc import Callable
from typing import Any

PARAMETERS = {
    "normalize_result": ("result",),
    "approval_note": ("ctx", "arguments"),
    "describe": ("groups",),
    "find_problem": ("ctx", "arguments"),
    "answer": ("text",),
}
"""What each of these traits is called with."""


def find_wrong_function(trait: str, function: object) -> str:
    """Return what is wrong with the function of a trait, and what to write; else the empty text."""
    if not callable(function):
        return f"{trait} is {function!r:.60}; it must be a function"
    called: Any = type(function).__call__
    for each in (function, called):
        if inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each):
            return f"{trait} is async, and nothing awaits it: write `def`"
        if inspect.isgeneratorfunction(each):
            return f"{trait} yields; it must return its value"
    given = PARAMETERS[trait]
    if not _takes(function, len(given)):
        return f"{trait} is called with ({', '.join(given)}), which it does not take"
    return ""


def _takes(function: Callable[..., object], count: int) -> bool:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of a function in C, which need not have one
        return True
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return False
    return True
