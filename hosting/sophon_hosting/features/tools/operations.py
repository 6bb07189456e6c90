"""Operations on tools: what a user's turns can use, and the skills of the host."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Annotated, Final

from sophon.tools.registry import Toolbox, find_group
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.events.last_tool_errors import ToolError
from sophon_hosting.features.tools.custom_tool_operations import list_own
from sophon_hosting.features.tools.results import (
    ListedTool,
    SkillList,
    ToolGroupList,
    ToolList,
    ToolsVersion,
    custom_tool_to_json,
    skill_to_json,
    tool_error_to_json,
    tool_to_json,
)
from sophon_hosting.features.tools.usable_tools import list_usable_tools
from sophon_hosting.json_text import encode_json
from sophon_hosting.operations.request import Doc, NoFields, Request, WaitSeconds
from sophon_hosting.operations.table import Table

table = Table("tools")

VERSION_DIGITS: Final = 32


class WatchTools(Request):
    """The version of the tools that the client knows, and how long to wait for another."""

    after: Annotated[str, Doc("Version that the client knows.")] = ""
    wait: WaitSeconds = 0


@table.operation("GET /api/tools", needs="Read")
async def list_tools(caller: Caller, request: NoFields) -> ToolList:
    """List the tools that the user may use, with their risk and the JSON Schema of their arguments.

    `last_error` is how a call last failed in a session of the user, `hidden` the number of the other tools. `custom`
    are the user's custom tools, also those that are off; for operators those of all users.
    """
    tools = list_usable_tools(caller)
    items: list[ListedTool] = []
    for tool in tools:
        error = await find_last_error(caller, tool.name)
        items.append({**tool_to_json(tool), "last_error": None if error is None else tool_error_to_json(error)})
    custom = [custom_tool_to_json(each, has_folder=caller.user.operator) for each in await list_own(caller)]
    hidden = len(caller.host.services.registry) - len(tools)
    return {"items": items, "version": _digest(caller), "hidden": hidden, "custom": custom}


@table.operation("GET /api/tools/version", needs="Read")
async def get_tools_version(caller: Caller, request: WatchTools) -> ToolsVersion:
    """Return the version of the tools that the user may use, once it differs from `after` or `wait` is over."""
    deadline = caller.monotonic() + request.wait
    with watch_toolbox(caller.host.services.toolbox) as changed:
        while (version := _digest(caller)) == request.after:
            changed.clear()
            if not await caller.wait_for_change(changed, deadline):
                break
    return {"version": version}


@table.operation("GET /api/tools/groups", needs="Read")
async def list_tool_groups(caller: Caller, request: NoFields) -> ToolGroupList:
    """List the groups that `load_tools` offers the user, with the names of their tools."""
    groups: dict[str, list[str]] = {}
    for tool in list_usable_tools(caller):
        if group := find_group(tool):
            groups.setdefault(group, []).append(tool.name)
    return {"items": [{"group": name, "tools": tools} for name, tools in sorted(groups.items())]}


@table.operation("GET /api/skills", needs="Read")
async def list_skills(caller: Caller, request: NoFields) -> SkillList:
    """List the skills with their state and the length of their instructions; problems for operators only."""
    services = caller.host.services
    if services.assistant.skills is None:
        return {"items": [], "problems": []}
    found = await services.clock.run_in_thread(services.assistant.skills.read)
    count_tokens = services.gateway.tokens.count_text
    items = [
        skill_to_json(each, enabled=name not in found.disabled, tokens=count_tokens(each.instructions))
        for name, each in found.skills.items()
    ]
    return {"items": items, "problems": [str(each) for each in found.problems] if caller.user.operator else []}


def _digest(caller: Caller) -> str:
    """Return the version of the tools that a user may use: a digest of everything that a client is told of them."""
    shown = [tool_to_json(each) for each in list_usable_tools(caller)]
    return sha256(encode_json(shown).encode()).hexdigest()[:VERSION_DIGITS]


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
