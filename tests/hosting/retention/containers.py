"""Lengths of all collections that the objects of a process hold, by class and attribute: what grows, grows in one."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any

CONTAINERS = (dict, list, set, frozenset, tuple, deque)
OWN_MODULES = ("sophon",)
"""Objects of other libraries, and of asyncio, are not looked into."""


def measure_containers(*roots: object) -> Counter[str]:
    """Return the elements of the collections, summed up per class and attribute; immutable ones are not counted."""
    lengths: Counter[str] = Counter()
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", each) for each in roots]
    while waiting:
        name, found = waiting.pop()
        if id(found) in seen or isinstance(found, type):
            continue
        seen.add(id(found))
        if isinstance(found, CONTAINERS):
            if not isinstance(found, (tuple, frozenset)):
                lengths[name] += len(found)
            values: Any = found.values() if isinstance(found, Mapping) else found
            waiting += [(name, each) for each in values]
        elif type(found).__module__.partition(".")[0].startswith(OWN_MODULES):
            waiting += [(f"{type(found).__qualname__}.{each}", value) for each, value in _attributes(found)]
            if isinstance(found, Mapping):  # a mapping of one's own
                waiting += [(f"{type(found).__qualname__}[]", dict(found))]
    return lengths


def _attributes(found: object) -> Iterator[tuple[str, object]]:
    yield from getattr(found, "__dict__", {}).items()
    for kind in type(found).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            full = f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            if hasattr(found, full):
                yield name, getattr(found, full)
