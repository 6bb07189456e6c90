"""Intent registry: all intents in matching order; the first that matches a clause is used."""

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
_BY_TOOL = {intent.tool: intent for intent in (*SKILLS, FORGOTTEN) if intent is not FORGET}


def skill_for(ask: Ask) -> tuple[Skill, Wish] | None:
    """Return the first intent that matches the clause, and its call, or None."""
    for intent in SKILLS:
        call = intent.match(ask)
        if call is not None:
            return intent, call
    return None


def skill_of(tool: str) -> Skill:
    """Return the intent that describes a tool's results; `NAMED` for any tool without an intent of its own."""
    return _BY_TOOL.get(tool, NAMED)
