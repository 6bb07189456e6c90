"""Sections of settings of the host and its features, which the framework adds to its own.

A chain in one's own process reads settings with them too, so nothing of a host is imported but the sections.
"""

from collections.abc import Iterator
from importlib import import_module

from sophon.settings.root import RootSection
from sophon_hosting.features import FEATURES


def load_sections() -> Iterator[type[RootSection]]:
    """Yield the sections that the packages of the features name in SETTINGS, in the order of the features."""
    for feature in FEATURES:
        package = import_module(f"sophon_hosting.features.{feature}")
        for path in getattr(package, "SETTINGS", ()):
            module, _, name = path.partition(":")
            yield getattr(import_module(module), name)
