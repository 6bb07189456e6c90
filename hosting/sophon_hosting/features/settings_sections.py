"""Sections of settings of the host and its features, which the framework adds to its own.

A chain in one's own process reads settings with them too, so nothing of a host is imported but the sections.
"""

from collections.abc import Iterator
from importlib import import_module

from sophon.settings.root import RootSection
from sophon_hosting.features import FEATURES


def load_sections() -> Iterator[type[RootSection]]:
    """Yield the sections that packages name in SETTINGS: those of the host, and then of the features in their order."""
    for package in ("settings", *(f"features.{name}" for name in FEATURES)):
        for path in getattr(import_module(f"sophon_hosting.{package}"), "SETTINGS", ()):
            module, _, name = path.partition(":")
            yield getattr(import_module(module), name)
