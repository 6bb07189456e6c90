"""Skill that a person calls by its name in a message, as `/tax-forms 2025`."""

from collections.abc import Mapping
from typing import Final

from sophon._python.lazy_pattern import lazy_pattern
from sophon.skills.skill_package import SkillPackage

_CALL: Final = lazy_pattern(r"/([a-z0-9]+(?:-[a-z0-9]+)*)(?=\s|\Z)")


def find_called_skill(text: str, skills: Mapping[str, SkillPackage]) -> SkillPackage | None:
    """Return the skill that a message calls, as `/tax-forms 2025`; None unless a person may call it."""
    match = _CALL.match(text.lstrip())
    skill = skills.get(match[1]) if match is not None else None
    return skill if skill is not None and skill.is_callable else None


def build_called_section(skill: SkillPackage, instructions: str) -> str:
    """Return the section for a called skill. What the person wrote stays in the message: it is no instruction here."""
    return (
        f"The user's message begins with /{skill.name}: it calls this skill. Its instructions are loaded; follow them "
        f"now. What follows /{skill.name} in the message are its arguments; $ARGUMENTS in the instructions stands for "
        f"them.\n\n{instructions}"
    )
