"""What is to be done when the loop detector ends a turn, after which no model call follows."""

from collections.abc import Awaitable, Callable

from sophon.context import Context
from sophon.extensions import Key

LOOP_END: Key[Callable[[Context], Awaitable[None]]] = Key("agentic_loop.end")
"""Called once with the turn whose response is set; middlewares behind ToolExecution see no such turn otherwise."""


async def report_loop_end(ctx: Context) -> None:
    """Call what was left under `LOOP_END`, if anything."""
    report = ctx.get(LOOP_END)
    if report is not None:
        await report(ctx)
