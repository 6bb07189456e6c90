"""Transcript parser: the current question, the messages before it, and the tool calls made since."""

import re
from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Message, ToolCall
from sophon.models.offline.intent import CallResult, PlannedCall
from sophon.models.offline.tool_results import parse_tool_result
from sophon.tools.untrusted_text import unfence_text

_STEP_RESULTS = "\n\nResults of the steps before this one:\n\n"
_STEP_ERROR = "\n\nA first try failed: "
_GOAL_MARK = "\n\nThis is one step of the goal:"
_STEP = re.compile(r"(?:^|(?<=\n\n))Step [^\s:(]{1,80}:\n")
_SCHEDULED = re.compile(r"\A\[(?:SCHEDULED TASK|TAREA PROGRAMADA):[^\]\n]{0,200}\]\n?")
"""First line of a message that a schedule has sent."""
_FILE = re.compile(r"(?:\A|\n\n)(?=\[File: [^\n]*\])")
"""Beginning of a file of a message, as `sophon.turn.attached_files` and `sophon.documents` write it."""
_CALL_ID = re.compile(r"call_(\d{1,9})")
"""Id of a tool call made by the offline model. The other patterns follow the layout of `sophon.plans.step_prompt`; a
test checks that they match."""


@dataclass(frozen=True, slots=True)
class ParsedTranscript:
    """Parsed transcript of one request.

    `previous_results`: results that the prompt of a plan step contains, and the files of the message.
    `earlier_messages`: the messages before the question. `executed_calls`: the calls since the question, with their
    results. `round_count`: the number of replies with calls since the question. `is_first_reply`: the conversation has
    no reply yet. `last_call_number`: the highest number in a call id of the offline model.
    """

    question: str
    previous_results: Sequence[str]
    earlier_messages: Sequence[Message]
    executed_calls: Sequence[tuple[ToolCall, str]]
    round_count: int
    is_first_reply: bool
    last_call_number: int

    def find_result(self, call: PlannedCall, clause: str) -> CallResult | None:
        """Return the result of a call if it was made since the question, else None."""
        canonical = ToolCall("", call.tool, call.arguments).canonical_arguments()
        for executed, text in reversed(self.executed_calls):
            if executed.name == call.tool and executed.canonical_arguments() == canonical:
                return parse_tool_result(call, text, clause)
        return None


def parse_transcript(messages: Sequence[Message]) -> ParsedTranscript:
    """Parse a transcript. Messages of the framework (`origin`) are not questions; the question may be empty."""
    index = find_last_question(messages)
    earlier, since = messages[: max(index, 0)], messages[index + 1 :]
    asked, *files = _FILE.split(_SCHEDULED.sub("", messages[index].content)) if index >= 0 else [""]
    question, material = split_step_prompt(asked)
    contents = [unfence_text(each.partition("\n")[2]).strip() for each in files]
    material += [each for each in contents if each]
    results = {m.tool_call_id: m.content for m in since if m.role == "tool"}
    made = [(call, results[call.id]) for m in since for call in m.tool_calls if call.id in results]
    return ParsedTranscript(
        question=question,
        previous_results=material,
        earlier_messages=earlier,
        executed_calls=made,
        round_count=sum(1 for m in since if m.tool_calls),
        is_first_reply=not any(m.role == "assistant" for m in earlier),
        last_call_number=max((_parse_call_number(call.id) for m in messages for call in m.tool_calls), default=0),
    )


def find_last_question(messages: Sequence[Message]) -> int:
    """Return the index of the last message from the user (or a plan step's prompt), -1 for none."""
    users = [index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "user"]
    return next((index for index in users if not messages[index].origin), users[0] if users else -1)


def split_step_prompt(prompt: str) -> tuple[str, list[str]]:
    """Split a plan step's prompt into its description and the earlier results; any other text has no results."""
    prompt = prompt.partition(_GOAL_MARK)[0]
    prompt = prompt.rpartition(_STEP_ERROR)[0] or prompt
    description, mark, results = prompt.partition(_STEP_RESULTS)
    if not mark:
        return prompt, []
    return description, [unfence_text(part).strip() for part in _STEP.split(results) if part.strip()]


def _parse_call_number(call_id: str) -> int:
    match = _CALL_ID.fullmatch(call_id)
    return int(match[1]) if match else 0
