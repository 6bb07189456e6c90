"""Patterns of the decision layer, one table per language."""

from collections.abc import Mapping
from types import ModuleType
from typing import Final

from sophon.decisions.tables import english, spanish

TABLES: Final[Mapping[str, ModuleType]] = {"en": english, "es": spanish}
"""The tables by language code."""
