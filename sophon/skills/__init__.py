"""Skills: folders with instructions, and tools, that a model loads when a task needs them (Agent Skills format)."""

from sophon.skills.catalog import SkillCatalog
from sophon.skills.skill_package import SkillPackage, SkillProblem

__all__ = ["SkillCatalog", "SkillPackage", "SkillProblem"]
