"""Settings that an operator may change while the host runs: those that each turn reads anew.

Their sections name them. What protects (guards, approvals, permissions, users) is not among them: that is changed in
the settings file, by somebody who can read all of it at once. Nor is what is built once at the start, such as queue,
store and channels.
"""

from collections.abc import Iterator
from functools import cache

from sophon.settings.root import load_settings_type
from sophon.settings.types.introspection import get_section_type
from sophon.settings.types.section import SettingsSection


@cache
def list_changeable() -> tuple[str, ...]:
    """Return the paths below `Sophon`. A change holds for turns that start after it, that of the log level at once."""
    return tuple(".".join(path) for path in _list_paths(load_settings_type()))


def split_changeable(path: str) -> tuple[str, ...] | None:
    """Return the parts of a path that may be changed; None for any other."""
    return tuple(path.split(".")) if path in list_changeable() else None


def _list_paths(section: type[SettingsSection]) -> Iterator[tuple[str, ...]]:
    for name, info in section.model_fields.items():
        if name in section.changeable:
            yield (info.alias,)
        elif (below := get_section_type(info.annotation)) is not None:
            yield from ((info.alias, *path) for path in _list_paths(below))
