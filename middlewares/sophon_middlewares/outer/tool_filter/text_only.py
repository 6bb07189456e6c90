"""Text-only strategy: what a turn does in which the person may use no tool."""

from typing import Final

from sophon.context import Context
from sophon.extensions import Key

TEXT_ONLY: Final[Key[bool]] = Key("tools.text_only", dump=bool, load=bool)
"""Set in a turn without any tool: requests have no tool schemas, and no text of a reply is taken for a call."""


def note_text_only(ctx: Context) -> bool:
    """Note whether the turn has no tool at all; return it."""
    is_text_only = not ctx.tools
    if is_text_only:
        ctx.put(TEXT_ONLY, True)
    return is_text_only
