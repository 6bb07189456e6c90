"""Redaction of what a tool call returned, before it is settled, journaled, recorded or read by a model."""

import logging

from sophon.context import Context
from sophon.messages import ToolCallOutcome
from sophon.tools.untrusted_text import ExternalText

log = logging.getLogger("sophon.tools")

WITHHELD = "error: the text is withheld, because its secrets could not be replaced"
"""Stands for a text whose redaction failed: it may hold a secret."""

MAX_INLINE_CHARACTERS = 50_000
"""A longer text is redacted in a worker thread, so that other turns go on."""


async def redact_result(ctx: Context, text: str, outcome: ToolCallOutcome) -> tuple[str, ToolCallOutcome]:
    """Return a tool's result with its secrets replaced, if the turn has a redactor; a text from outside stays one."""
    if ctx.redactor is None:
        return text, outcome
    if len(text) > MAX_INLINE_CHARACTERS:
        shown = await ctx.services.clock.run_in_thread(lambda: redact_text(ctx, text))
    else:
        shown = redact_text(ctx, text)
    if shown is WITHHELD:
        return WITHHELD, "failed"
    return (ExternalText(shown) if isinstance(text, ExternalText) else shown), outcome


def redact_text(ctx: Context, text: str) -> str:
    """Return a text with its secrets replaced, if the turn has a redactor; `WITHHELD` if that fails."""
    if ctx.redactor is None:
        return text
    try:
        return ctx.redactor(str(text))
    except Exception:
        log.exception("a text could not be redacted, and is withheld")
        return WITHHELD
