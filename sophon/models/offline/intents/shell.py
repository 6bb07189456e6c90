"""Shell intent: run a command that the user wrote out, word for word."""

import re

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.language.english import strip_quotes
from sophon.models.offline.tool_results import format_block
from sophon.tools.tool import Risk

_RUN = re.compile(
    r"(?:run|execute)(?: (?:the|this|a|following|shell|terminal|system|bash|my)){0,3}"
    r"(?P<named> commands?| in (?:the|a) (?:shell|terminal))?(?P<colon>:)? (?P<command>.+)",
    re.IGNORECASE | re.DOTALL,
)
_COMMAND_LIST = """
    ls uname echo cat pwd date whoami df du git python python3 uptime hostname id env free head tail wc ps which grep
    find make node npm pip true false sleep printf touch mkdir rm cp mv curl ping
"""
_KNOWN_COMMANDS = frozenset(_COMMAND_LIST.split())
SUCCESS_PREFIX = "exit code 0\n--- stdout\n"
"""Prefix of a system.execute result with exit code 0 and only output; any other result is shown unchanged."""
NO_OUTPUT = re.compile(r"\s*(?:exit code 0\s*)?")


def _match(intent_input: IntentInput) -> PlannedCall | None:
    found = _RUN.fullmatch(intent_input.clause)
    if found is None:
        return None
    stated = found["command"].strip()
    command = strip_quotes(stated)
    is_explicit = found["named"] or found["colon"] or command != stated or command.split(" ", 1)[0] in _KNOWN_COMMANDS
    return PlannedCall("system.execute", {"command": command}) if is_explicit and command.strip() else None


def _command_of(call: PlannedCall) -> str:
    return str(call.arguments.get("command", ""))


def _describe_result(result: CallResult) -> str:
    sentence = f"I ran `{_command_of(result.call)}`"
    if NO_OUTPUT.fullmatch(result.text):
        return f"{sentence}; it printed nothing."
    return f"{sentence}. Its output:\n{format_block(result.text.removeprefix(SUCCESS_PREFIX))}"


SHELL = Intent(
    tool="system.execute",
    group="system",
    match_clause=_match,
    describe_result=_describe_result,
    describe_call=lambda call: f"run the command `{_command_of(call)}`",
    risk=Risk.CRITICAL,
    resource="machine",
    is_writer=True,
)
