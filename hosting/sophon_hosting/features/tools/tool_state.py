"""State of the tools of a host: how they last failed, and when they change."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from sophon.tools.registry import Toolbox
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.events.tool_errors import ToolError


async def find_last_error(caller: Caller, tool: str) -> ToolError | None:
    """Return the last error of a tool in a session of the user, for operators in any; None if there was none.

    Without FullHistory it has no text.
    """
    for error in caller.host.tool_errors.find(tool):
        session = await caller.store.sessions.find(error.session_id)
        is_own = session is not None and session.owner == caller.user.id
        if is_own or caller.user.operator:
            return error if caller.view is None else replace(error, text="")
    return None


@contextmanager
def watch_toolbox(toolbox: Toolbox) -> Generator[asyncio.Event]:
    """Provide an event that is set when the tools of the process change, in whichever thread."""
    changed, loop = asyncio.Event(), asyncio.get_running_loop()

    def notice() -> None:
        loop.call_soon_threadsafe(changed.set)

    toolbox.listeners.add(notice)
    try:
        yield changed
    finally:
        toolbox.listeners.discard(notice)
