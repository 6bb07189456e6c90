"""Check of a model's facts: a wrong one is refused where it is written, and not by a limit that it switches off."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import cast

HOSTINGS = ("local", "private", "hosted")


def find_wrong_fact(info: object) -> str:
    """Return which fact of a ModelInfo cannot be, and what to write; else the empty text."""
    for name, is_right, remedy in _RULES:
        if not is_right(value := getattr(info, name)):
            return f"{name} is {value!r:.60}; {remedy}"
    return ""


def are_capabilities(value: object) -> bool:
    """Return whether the value is a collection of words; a text would be taken as its letters."""
    return (
        isinstance(value, Collection)
        and not isinstance(value, str)
        and all(map(_is_filled_text, cast(Collection[object], value)))
    )


CAPABILITIES_REMEDY = "write a set of words, such as {'vision'}"


def _is_filled_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_whole_or_none(value: object) -> bool:
    return value is None or _is_whole(value)


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_price_or_none(value: object) -> bool:
    return value is None or _is_price(value)


def _is_price_pair_or_none(value: object) -> bool:
    if not isinstance(value, tuple | list):
        return value is None
    pair = cast(Sequence[object], value)
    return len(pair) == 2 and all(map(_is_price, pair))


def _is_hosting(value: object) -> bool:
    # Any other text would count as free, and a limit on the cost as met.
    return value in HOSTINGS


_TEXT, _FLAG, _TOKENS = "it must be a text", "write True or False", "it must be a whole number from 1, in tokens"
_RULES: tuple[tuple[str, Callable[[object], bool], str], ...] = (
    ("name", _is_filled_text, _TEXT),
    ("provider", _is_filled_text, _TEXT),
    ("context_window", _is_whole, _TOKENS),
    ("max_output_tokens", _is_whole_or_none, _TOKENS),
    ("function_calling", _is_flag, _FLAG),
    ("streaming", _is_flag, _FLAG),
    ("capabilities", are_capabilities, CAPABILITIES_REMEDY),
    ("prices", _is_price_pair_or_none, "write (input, output) in USD per million tokens, such as (3.0, 15.0)"),
    ("hosting", _is_hosting, f"write one of {', '.join(map(repr, HOSTINGS))}"),
    ("cached_input_price", _is_price_or_none, "it must be a number from 0"),
    ("cache_write_factor", _is_price, "it must be a number from 0"),
)
