"""Shapes of JSON values: keys and type names without values, and the differences between two shapes."""

from collections.abc import Iterator, Sequence
from typing import Any

OPAQUE_KEYS = frozenset({"arguments", "parameters", "settings"})
"""Keys of objects that belong to tools and settings, not to the API: only their type is part of a shape."""

MAP_KEYS = frozenset({"by_group", "counts", "deleted", "scores", "steps"})
"""Keys of objects whose keys are values: all members have one shape."""

VALUE_KEYS = frozenset({"value"})
"""Keys of values of any type, such as those of settings."""


def shape_of(*values: object) -> Any:
    """Return the shape of one value, or the one shape that several values have together.

    An object is a dict, in which `key?` is missing in some values. A list is `[shape of the items]`. Scalars are type
    names, joined by ` | `. The code of an error is its value. Objects of a list that name their `event` or `kind` have
    one shape for each of these.
    """
    scalars = sorted({_type_name(each) for each in values if not isinstance(each, dict | list)})
    dicts = [each for each in values if isinstance(each, dict)]
    lists = [each for each in values if isinstance(each, list)]
    found: list[Any] = [" | ".join(scalars)] if scalars else []
    if dicts:
        found.append(_shape_of_objects(dicts))
    if lists:
        items = [item for each in lists for item in each]
        found.append([_shape_of_items(items)] if items else [])
    return found[0] if len(found) == 1 else {"one of": found}


def find_differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield one line for each place in which two shapes differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted({*expected, *actual}):
            place = f"{path}.{key}".lstrip(".")
            if key not in actual:
                yield f"{place}: is missing now"
            elif key not in expected:
                yield f"{place}: is new: {actual[key]!r:.200}"
            else:
                yield from find_differences(expected[key], actual[key], place)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for one, other in zip(expected, actual, strict=True):
            yield from find_differences(one, other, f"{path}[]")
    elif expected != actual:
        yield f"{path or 'the whole'}: was {expected!r:.200}, is {actual!r:.200}"


def _shape_of_objects(dicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key in sorted({key for each in dicts for key in each}):
        values = [each[key] for each in dicts if key in each]
        shown = key if len(values) == len(dicts) else f"{key}?"
        result[shown] = _shape_of_member(key, values)
    return result


def _shape_of_member(key: str, values: Sequence[object]) -> Any:
    are_objects = all(isinstance(each, dict) for each in values)
    if key in OPAQUE_KEYS and are_objects:
        return "object"
    if key in MAP_KEYS and are_objects:
        members = [value for each in values if isinstance(each, dict) for value in each.values()]
        return {"*": shape_of(*members)} if members else {}
    found = shape_of(*values)
    if key in VALUE_KEYS and not isinstance(found, str):
        return "any"
    codes = sorted({str(each["code"]) for each in values if isinstance(each, dict) and "code" in each})
    if key == "error" and codes and isinstance(found, dict) and "code" in found:
        found["code"] = "= " + " | ".join(codes)
    return found


def _shape_of_items(items: Sequence[object]) -> Any:
    for key in ("event", "kind"):
        grouped: dict[str, list[object]] = {}
        for each in items:
            if isinstance(each, dict) and isinstance(each.get(key), str):
                grouped.setdefault(f"{key} {each[key]}", []).append(each)
        if sum(map(len, grouped.values())) == len(items):
            return {name: shape_of(*of_kind) for name, of_kind in sorted(grouped.items())}
    return shape_of(*items)


def _type_name(value: object) -> str:
    return "null" if value is None else type(value).__name__
