"""Sections of settings that the framework does not know: those of the host of this distribution, and of others.

Each entry point of the group `sophon.settings` is a class. The host's are found by the name of a module: it stands
above the framework, and its settings must not depend on the metadata of an installation, which a checkout may lack.
"""

from importlib import import_module
from typing import Final, TypeVar

from sophon.entry_points import describe_entry_point, find_entry_points, load_entry_point
from sophon.errors import SettingsError

SETTINGS_GROUP: Final = "sophon.settings"
HOST_SECTIONS: Final = "sophon_hosting.features.settings_sections"

Section = TypeVar("Section")


def load_installed_sections(kind: type[Section]) -> list[type[Section]]:
    """Return the sections of the host, and behind them those of other distributions by the names of their entry points.

    Raises SettingsError for an entry point that cannot be loaded, or is no subclass of `kind`.
    """
    found: list[type[Section]] = list(import_module(HOST_SECTIONS).load_sections())
    for _, entry in sorted(find_entry_points(SETTINGS_GROUP).items()):
        section = load_entry_point(entry)
        if not (isinstance(section, type) and issubclass(section, kind)):
            raise SettingsError([f"{describe_entry_point(entry)} is no {kind.__name__}"])
        found.append(section)
    return found
