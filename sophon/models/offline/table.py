"""The table of skills, in the order in which they are tried on a clause: the first that matches has it."""

from sophon.models.offline.skill import Ask, Skill, Wish
from sophon.models.offline.skills.arithmetic import ARITHMETIC
from sophon.models.offline.skills.dates import DATES
from sophon.models.offline.skills.files import LIST_FILES, READ_FILE, WRITE_FILE
from sophon.models.offline.skills.memory import FORGET, FORGOTTEN, RECALL, REMEMBER
from sophon.models.offline.skills.named import NAMED
from sophon.models.offline.skills.shell import SHELL
from sophon.models.offline.skills.web import FETCH, SEND

SKILLS: tuple[Skill, ...] = (
    NAMED,
    SHELL,
    WRITE_FILE,
    REMEMBER,
    FORGET,
    SEND,
    FETCH,
    LIST_FILES,
    READ_FILE,
    ARITHMETIC,
    DATES,
    RECALL,
)
_BY_TOOL = {skill.tool: skill for skill in (*SKILLS, FORGOTTEN) if skill is not FORGET}


def skill_for(ask: Ask) -> tuple[Skill, Wish] | None:
    """The skill that a clause calls for and the call that it wishes for, or None."""
    for skill in SKILLS:
        wish = skill.match(ask)
        if wish is not None:
            return skill, wish
    return None


def skill_of(tool: str) -> Skill:
    """The skill that can tell a tool's results; any tool that no row knows is told as it is."""
    return _BY_TOOL.get(tool, NAMED)
