"""Usage estimate of the offline model, identical on every machine."""

from collections.abc import Iterable

from sophon.messages import ToolCall, Usage
from sophon.models.model import ModelRequest
from sophon.tools.tool import Tool

CHARACTERS_PER_TOKEN = 4
"""Common rule of thumb for English."""

_TOKENS_PER_MESSAGE = 4
_TOKENS_PER_PARAMETER = 16


def estimate_usage(request: ModelRequest, text: str, calls: Iterable[ToolCall]) -> Usage:
    """Estimate the tokens of a request and its reply, with a small overhead per message, call and tool."""
    messages = sum(
        _TOKENS_PER_MESSAGE + approximate_tokens(m.content) + _tool_call_tokens(m.tool_calls) for m in request.messages
    )
    return Usage(
        messages + sum(_definition_tokens(tool) for tool in request.tools),
        approximate_tokens(text) + _tool_call_tokens(calls),
    )


def approximate_tokens(text: str) -> int:
    """Estimate the tokens of a text: one per four characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _tool_call_tokens(calls: Iterable[ToolCall]) -> int:
    return sum(_TOKENS_PER_MESSAGE - (-len(call.canonical_arguments()) // CHARACTERS_PER_TOKEN) for call in calls)


def _definition_tokens(tool: Tool) -> int:
    return (
        _TOKENS_PER_MESSAGE
        + approximate_tokens(tool.description)
        + _TOKENS_PER_PARAMETER * len(tool.parameters.get("properties") or ())
    )
