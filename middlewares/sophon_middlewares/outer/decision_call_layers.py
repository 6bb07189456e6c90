"""Call layers of DecisionLayer: one that answers by a tool call, and one that adds a note for the model."""

import json
from collections.abc import Awaitable
from typing import Final

from sophon.context import Context
from sophon.decisions.fast_paths import FastPath
from sophon.messages import Message, ToolCall, ToolResult
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.tools.untrusted_text import unfence_text

GOAL_TOOL: Final = "goals.create"
"""Tool that takes a message of the strategy `goal`, where it exists; elsewhere the message is planned."""


class HintLayer:
    """Call layer that puts a note in front of the last message of the person; nothing of it is stored."""

    __slots__ = ("_note",)

    def __init__(self, hint: str) -> None:
        self._note = Message("system", hint)

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        messages = list(request.messages)
        last = max((index for index, each in enumerate(messages) if each.role == "user"), default=len(messages))
        messages.insert(last, self._note)
        return call(request.copy_with(messages=messages))


class FastPathLayer:
    """Call layer of a turn with a fast path: stands for the model that asks for the tool, and then tells its result.

    A result that is an error or a denial is left to the model, which sees the call in the messages.
    """

    __slots__ = ("_call_id", "_ctx", "_path", "_succeeded")

    def __init__(self, ctx: Context, path: FastPath) -> None:
        self._ctx, self._path = ctx, path
        self._call_id = f"fast:{ctx.run_id}"
        self._succeeded = False

    def note_result(self, ctx: Context, call: ToolCall, result: ToolResult) -> None:
        """Note whether the call has a result that answers the message."""
        if call.id == self._call_id:
            self._succeeded = result.outcome == "completed"

    def __call__(self, request: ModelRequest, call: Call) -> Awaitable[ModelResponse]:
        last = request.messages[-1]
        if last.role == "user" and not self._ctx.iteration:
            return _respond(ModelResponse("", [ToolCall(self._call_id, self._path.tool, self._path.arguments)]))
        if last.tool_call_id != self._call_id or not self._succeeded:
            return call(request)
        text = write_answer(self._path.tool, unfence_text(last.content))
        if request.on_text is not None:
            request.on_text(text)
        return _respond(ModelResponse(text))


def write_answer(tool: str, result: str) -> str:
    """Return the answer of a fast path: the result of its tool, and for a goal, whose result is JSON, a sentence."""
    if tool != GOAL_TOOL:
        return result
    try:
        goal = json.loads(result)
        return f"This is a goal now: {goal['title']} ({goal['goal']}). I work on it in the background and report here."
    except (ValueError, KeyError, TypeError):
        return result


async def _respond(response: ModelResponse) -> ModelResponse:
    return response
