"""Decision rules: the patterns and the families of fast paths in use, which settings may extend or switch off."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.decisions.fast_path_families import FAMILIES, FastPathFamily
from sophon.decisions.patterns import PatternTable, build_table


@dataclass(frozen=True, slots=True)
class DecisionRules:
    """What `decide` and `fast_path` decide by."""

    table: PatternTable = field(default_factory=build_table)
    families: Sequence[FastPathFamily] = FAMILIES


DEFAULT_RULES: Final = DecisionRules()
"""All languages and all families, without additions."""
