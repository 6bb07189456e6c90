"""Entry points of installed distributions, by group."""

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from sophon.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


def find_entry_points(group: str) -> "dict[str, EntryPoint]":
    """Return the entry points of a group by name; of two with the same name the first that Python finds."""
    found: dict[str, EntryPoint] = {}
    for entry in _read_entry_points(tuple(sys.path)).select(group=group):
        found.setdefault(entry.name, entry)
    return found


@lru_cache(maxsize=1)
def _read_entry_points(path: tuple[str, ...]) -> "EntryPoints":
    """Return those of all groups: a host asks for eight groups, and reading the files of an environment takes 5 ms."""
    from importlib.metadata import entry_points  # lazy: most chains in one's own process have no plug-ins

    return cast("EntryPoints", entry_points())  # Python 3.11 returns another class, which has `select` too


def load_entry_point(entry: "EntryPoint") -> object:
    """Load the object of an entry point. Raises SettingsError that names the entry point and its distribution."""
    try:
        return entry.load()
    except Exception as error:
        raise SettingsError(
            [f"{describe_entry_point(entry)} cannot be loaded: {type(error).__name__}: {error}"]
        ) from error


def describe_entry_point(entry: "EntryPoint") -> str:
    """Return the name, the group and the distribution of an entry point, for messages."""
    distribution = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"the entry point {entry.name!r} in {entry.group}{distribution}"
