"""What a request holds for the offline model: the question, what came before it, and the calls made since."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sophon.messages import Message, ToolCall
from sophon.models.offline.display import found
from sophon.models.offline.skill import Finding, Wish

_STEP_RESULTS = "\n\nResults of the steps before this one:\n\n"
_STEP_ERROR = "\n\nA first try failed: "
_STEP = re.compile(r"(?:^|(?<=\n\n))Step [^\s:(]{1,80}:\n")
_ID = re.compile(r"call_(\d{1,9})")
"""The layout of sophon.plans.step_prompt; a test holds the two together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """`material`: results that the prompt of a plan step brings along. `made`: calls since the question, with results.

    `rounds` counts the replies with calls since the question. `first`: nobody has answered in this conversation yet.
    `last_id` is the highest number of an id of ours.
    """

    question: str
    material: Sequence[str]
    earlier: Sequence[Message]
    made: Sequence[tuple[ToolCall, str]]
    rounds: int
    first: bool
    last_id: int

    def finding(self, wish: Wish, clause: str) -> Finding | None:
        """What came of the wish, if it was made since the question and has a result."""
        canonical = ToolCall("", wish.tool, wish.arguments).canonical()
        for call, text in reversed(self.made):
            if call.name == wish.tool and call.canonical() == canonical:
                return found(wish, text, clause)
        return None


def read(messages: Sequence[Message]) -> Reading:
    """Read a transcript. Notes of the framework (`origin`) are no questions; without any, the question is empty."""
    at = last_question(messages)
    earlier, since = messages[: max(at, 0)], messages[at + 1 :]
    question, material = step_parts(messages[at].content) if at >= 0 else ("", [])
    results = {m.tool_call_id: m.content for m in since if m.role == "tool"}
    made = [(call, results[call.id]) for m in since for call in m.tool_calls if call.id in results]
    return Reading(
        question=question,
        material=material,
        earlier=earlier,
        made=made,
        rounds=sum(1 for m in since if m.tool_calls),
        first=not any(m.role == "assistant" for m in earlier),
        last_id=max((_number(call.id) for m in messages for call in m.tool_calls), default=0),
    )


def last_question(messages: Sequence[Message]) -> int:
    """The index of the last message that a person wrote (or a plan step's prompt), -1 for none."""
    users = [at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "user"]
    return next((at for at in users if not messages[at].origin), users[0] if users else -1)


def step_parts(prompt: str) -> tuple[str, list[str]]:
    """The description in a plan step's prompt and the results of the steps before it; any other text has no results."""
    prompt = prompt.rpartition(_STEP_ERROR)[0] or prompt
    description, mark, results = prompt.partition(_STEP_RESULTS)
    if not mark:
        return prompt, []
    return description, [part.strip() for part in _STEP.split(results) if part.strip()]


def _number(call_id: str) -> int:
    match = _ID.fullmatch(call_id)
    return int(match[1]) if match else 0
