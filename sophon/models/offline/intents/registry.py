"""Intent registry: all intents in matching order; the first that matches a clause is used."""

from sophon.models.offline.intent import Intent, IntentInput, PlannedCall
from sophon.models.offline.intents.agents import ASK_AGENT
from sophon.models.offline.intents.arithmetic import ARITHMETIC
from sophon.models.offline.intents.date_time import DATE_TIME
from sophon.models.offline.intents.explicit_call import EXPLICIT_CALL
from sophon.models.offline.intents.files import LIST_FILES, READ_FILE, WRITE_FILE
from sophon.models.offline.intents.german import GERMAN_BY_TOOL, GERMAN_INTENTS
from sophon.models.offline.intents.memory import FIND_ENTRY_TO_FORGET, FORGET_ENTRY, RECALL, REMEMBER
from sophon.models.offline.intents.schedules import LIST_SCHEDULES, REMOVE_SCHEDULE, SCHEDULE
from sophon.models.offline.intents.shell import SHELL
from sophon.models.offline.intents.web import FETCH, SEND

_ENGLISH_INTENTS: tuple[Intent, ...] = (
    ASK_AGENT,
    EXPLICIT_CALL,
    SCHEDULE,
    LIST_SCHEDULES,
    REMOVE_SCHEDULE,
    SHELL,
    WRITE_FILE,
    REMEMBER,
    FIND_ENTRY_TO_FORGET,
    SEND,
    FETCH,
    LIST_FILES,
    READ_FILE,
    ARITHMETIC,
    DATE_TIME,
    RECALL,
)
INTENTS = (*GERMAN_INTENTS, *_ENGLISH_INTENTS)
"""The German ones come first: an English one takes every clause with a URL."""

_BY_TOOL = {each.tool: each for each in (*_ENGLISH_INTENTS, FORGET_ENTRY) if each is not FIND_ENTRY_TO_FORGET}


def match_intent(intent_input: IntentInput) -> tuple[Intent, PlannedCall] | None:
    """Return the first intent that matches the clause, and its call, or None."""
    for intent in INTENTS:
        call = intent.match_clause(intent_input)
        if call is not None:
            return intent, call
    return None


def intent_for_tool(tool: str, *, german: bool = False) -> Intent:
    """Return the intent that describes a tool's results; `EXPLICIT_CALL` for any tool without an intent of its own."""
    found = GERMAN_BY_TOOL.get(tool) if german else None
    return found or _BY_TOOL.get(tool, EXPLICIT_CALL)
