"""Agent intent: give a task to another agent, as in "ask agent helper to read notes.txt"."""

import re

from sophon.models.offline.intent import CallResult, Intent, IntentInput, PlannedCall
from sophon.models.offline.tool_results import format_block

_ASK = re.compile(
    r"(?:ask|tell|let|have)(?: the| my)? agent (?P<agent>[\w-]{1,64})(?:[:,]| to)? (?P<task>.+)",
    re.IGNORECASE | re.DOTALL,
)


def _match(intent_input: IntentInput) -> PlannedCall | None:
    found = _ASK.fullmatch(intent_input.clause)
    if found is None:
        return None
    return PlannedCall("agents.run", {"agent": found["agent"].lower(), "task": found["task"].strip()})


def _agent_of(call: PlannedCall) -> str:
    return str(call.arguments.get("agent", ""))


def _describe_result(result: CallResult) -> str:
    text = result.text.strip()
    answer = f" {text}" if "\n" not in text else f"\n{format_block(text)}"
    return f"The agent {_agent_of(result.call)} answered:{answer}"


ASK_AGENT = Intent(
    tool="agents.run",
    group="agents",
    match_clause=_match,
    describe_result=_describe_result,
    describe_call=lambda call: f"ask the agent {_agent_of(call)}",
)
