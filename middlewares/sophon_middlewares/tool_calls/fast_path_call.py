"""The call with which rules answer a message, made from the words of the person alone."""

from typing import Any, Final

from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall

FAST_PATH: Final[Key[list[Any]]] = Key("decision.fast_path", dump=list, load=list)
"""Tool and arguments of the turn's fast path."""


def is_fast_path(ctx: Context, call: ToolCall) -> bool:
    """Return whether a call is that of the turn's fast path, with exactly its arguments."""
    path = ctx.root.get(FAST_PATH)
    return path is not None and call.name == path[0] and dict(call.arguments) == path[1]
