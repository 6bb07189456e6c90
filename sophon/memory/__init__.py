"""Long-term memory: search over its entries, fusion of rankings, and the selection of skills for a prompt."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophon.memory.entry_ranking import decayed, fuse, mmr
    from sophon.memory.skill_selection import Selection, Skill, select_skills

_HOME = {
    "Selection": "sophon.memory.skill_selection",
    "Skill": "sophon.memory.skill_selection",
    "decayed": "sophon.memory.entry_ranking",
    "fuse": "sophon.memory.entry_ranking",
    "mmr": "sophon.memory.entry_ranking",
    "select_skills": "sophon.memory.skill_selection",
}

__all__ = ["Selection", "Skill", "decayed", "fuse", "mmr", "select_skills"]


def __getattr__(name: str) -> object:
    """Load a rule on first access: the stores import only the search."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value
