"""Transcript parser: the current question, the messages before it, and the tool calls made since."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sophon.messages import Message, ToolCall
from sophon.models.offline.display import found
from sophon.models.offline.skill import Finding, Wish

_STEP_RESULTS = "\n\nResults of the steps before this one:\n\n"
_STEP_ERROR = "\n\nA first try failed: "
_STEP = re.compile(r"(?:^|(?<=\n\n))Step [^\s:(]{1,80}:\n")
_CALL_ID = re.compile(r"call_(\d{1,9})")
"""Id of a tool call made by the offline model. The other patterns follow the layout of `sophon.plans.step_prompt`; a
test checks that they match."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Parsed transcript of one request.

    `material`: results that the prompt of a plan step contains. `earlier`: the messages before the question. `made`:
    the calls since the question, with their results. `rounds`: the number of replies with calls since the question.
    `first`: the conversation has no reply yet. `last_id`: the highest number in a call id of the offline model.
    """

    question: str
    material: Sequence[str]
    earlier: Sequence[Message]
    made: Sequence[tuple[ToolCall, str]]
    rounds: int
    first: bool
    last_id: int

    def finding(self, wish: Wish, clause: str) -> Finding | None:
        """Return the result of a call if it was made since the question, else None."""
        canonical = ToolCall("", wish.tool, wish.arguments).canonical()
        for executed, text in reversed(self.made):
            if executed.name == wish.tool and executed.canonical() == canonical:
                return found(wish, text, clause)
        return None


def read(messages: Sequence[Message]) -> Reading:
    """Parse a transcript. Messages of the framework (`origin`) are not questions; the question may be empty."""
    index = last_question(messages)
    earlier, since = messages[: max(index, 0)], messages[index + 1 :]
    question, material = step_parts(messages[index].content) if index >= 0 else ("", [])
    results = {m.tool_call_id: m.content for m in since if m.role == "tool"}
    made = [(call, results[call.id]) for m in since for call in m.tool_calls if call.id in results]
    return Reading(
        question=question,
        material=material,
        earlier=earlier,
        made=made,
        rounds=sum(1 for m in since if m.tool_calls),
        first=not any(m.role == "assistant" for m in earlier),
        last_id=max((_parse_call_number(call.id) for m in messages for call in m.tool_calls), default=0),
    )


def last_question(messages: Sequence[Message]) -> int:
    """Return the index of the last message from the user (or a plan step's prompt), -1 for none."""
    users = [index for index in range(len(messages) - 1, -1, -1) if messages[index].role == "user"]
    return next((index for index in users if not messages[index].origin), users[0] if users else -1)


def step_parts(prompt: str) -> tuple[str, list[str]]:
    """Split a plan step's prompt into its description and the earlier results; any other text has no results."""
    prompt = prompt.rpartition(_STEP_ERROR)[0] or prompt
    description, mark, results = prompt.partition(_STEP_RESULTS)
    if not mark:
        return prompt, []
    return description, [part.strip() for part in _STEP.split(results) if part.strip()]


def _parse_call_number(call_id: str) -> int:
    match = _CALL_ID.fullmatch(call_id)
    return int(match[1]) if match else 0
