"""Entry points of installed distributions, by group."""

from typing import TYPE_CHECKING

from sophon.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def find_entry_points(group: str) -> "dict[str, EntryPoint]":
    """Return the entry points of a group by name; of two with the same name the first that Python finds."""
    from importlib.metadata import entry_points  # lazy: most chains in one's own process have no plug-ins

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


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
