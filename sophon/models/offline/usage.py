"""What a call is taken to have used: an estimate that is the same on every machine."""

from collections.abc import Iterable

from sophon.messages import ToolCall, Usage
from sophon.models.model import ModelRequest
from sophon.tools.tool import Tool

CHARACTERS_PER_TOKEN = 4
"""The common rule of thumb for English."""

_PER_MESSAGE = 4
_PER_PARAMETER = 16


def usage(request: ModelRequest, text: str, calls: Iterable[ToolCall]) -> Usage:
    """Tokens of a request and of its answer; what frames a message, a call or a tool counts a little too."""
    told = sum(_PER_MESSAGE + tokens(m.content) + _called(m.tool_calls) for m in request.messages)
    return Usage(told + sum(_described(tool) for tool in request.tools), tokens(text) + _called(calls))


def tokens(text: str) -> int:
    """A token for every four characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _called(calls: Iterable[ToolCall]) -> int:
    return sum(_PER_MESSAGE - (-len(call.canonical()) // CHARACTERS_PER_TOKEN) for call in calls)


def _described(tool: Tool) -> int:
    return _PER_MESSAGE + tokens(tool.description) + _PER_PARAMETER * len(tool.parameters.get("properties") or ())
