"""Built-in tools `tools.*`: create, change, switch, delete and list custom tools, each change behind an approval.

To create and to change one is of Critical risk: it is asked about each time, and the person reads the whole program.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from sophon.builtin_tools.programs import find_confinement_problem, find_missing_sandbox
from sophon.builtin_tools.skill_scripts import build_script_tool
from sophon.context import Context, TurnServices
from sophon.errors import InputError, NotFound, ToolError
from sophon.events import CustomToolChanged
from sophon.skills.custom_tools import PREFIX, CustomTool, CustomToolDraft, CustomToolStore, UnusableCustomTool
from sophon.tools.registry import Toolbox
from sophon.tools.tool import Risk, Tool, to_wire_name, tool
from sophon.turn.provenance import collect_untrusted_sources

SOURCE: Final = "custom_tools"
"""Source of custom tools in the toolbox."""

GROUP: Final = "custom"

T = TypeVar("T")


def note_creation(ctx: Context, arguments: Mapping[str, Any]) -> str:
    """Return what the person who is asked must know besides the arguments, which show the whole program."""
    what = f"The program above becomes the tool {PREFIX}{arguments.get('name')} of {ctx.principal or 'this program'}."
    if missing := find_missing_sandbox(ctx.settings):
        return f"{what} Each call asks, because {missing}: it would run with the rights of the host."
    return f"{what} It runs in a sandbox without network, which sees the files folder."


@tool(
    name="tools.create",
    deferred=True,
    lasting=True,
    risk=Risk.CRITICAL,
    serial=True,
    group=GROUP,
    approval_note=note_creation,
    find_problem=find_confinement_problem,
)
async def tools_create(
    ctx: Context, name: str, description: str, program: str, parameters: dict[str, Any], risk: str = "high"
) -> str:
    """Make a new tool from a Python program, for this user; it can be called from the next message on.

    Args:
        name: Lower-case letters, digits, _ and -; the tool is called custom.NAME.
        description: One line that says what it does.
        program: Python source. It reads {"tool": name, "parameters": {...}} as JSON from standard input and writes
            {"success": true, "result": ...} or {"success": false, "error": text} to standard output.
        parameters: JSON Schema of the arguments, of the type object.
        risk: none, low, medium, high or critical; from high on each call asks.
    """
    draft = CustomToolDraft(name, description, program, parameters, risk)
    wire_names = {to_wire_name(each.name) for each in ctx.services.registry}
    if to_wire_name(f"{PREFIX}{name}") in wire_names:
        raise ToolError(f"there is a tool of the name {PREFIX}{name} already")
    return await _install(ctx, draft, "created")


@tool(
    name="tools.update",
    deferred=True,
    lasting=True,
    risk=Risk.CRITICAL,
    serial=True,
    group=GROUP,
    approval_note=note_creation,
    find_problem=find_confinement_problem,
)
async def tools_update(
    ctx: Context, name: str, description: str, program: str, parameters: dict[str, Any], risk: str = "high"
) -> str:
    """Replace a custom tool of this user by another program.

    Args:
        name: The name of the tool.
        description: One line that says what it does.
        program: The whole new Python source, as for tools.create.
        parameters: JSON Schema of the arguments, of the type object.
        risk: none, low, medium, high or critical.
    """
    draft = CustomToolDraft(name.removeprefix(PREFIX), description, program, parameters, risk)
    return await _install(ctx, draft, "updated")


@tool(name="tools.enable", deferred=True, lasting=True, risk=Risk.HIGH, serial=True, group=GROUP)
async def tools_enable(ctx: Context, name: str) -> str:
    """Switch a custom tool on.

    Args:
        name: The name of the tool.
    """
    return await _apply(ctx, "enabled", lambda store: store.change(name, ctx.principal, enabled=True))


@tool(name="tools.disable", deferred=True, lasting=True, risk=Risk.HIGH, serial=True, group=GROUP)
async def tools_disable(ctx: Context, name: str) -> str:
    """Switch a custom tool off; it can be switched on again.

    Args:
        name: The name of the tool.
    """
    return await _apply(ctx, "disabled", lambda store: store.change(name, ctx.principal, enabled=False))


@tool(name="tools.delete", deferred=True, lasting=True, risk=Risk.HIGH, serial=True, group=GROUP)
async def tools_delete(ctx: Context, name: str) -> str:
    """Delete a custom tool with its program.

    Args:
        name: The name of the tool.
    """
    return await _apply(ctx, "deleted", lambda store: store.delete(name, ctx.principal))


@tool(name="tools.list", deferred=True, risk=Risk.NONE, idempotent=True, group=GROUP)
async def tools_list(ctx: Context) -> list[dict[str, object]]:
    """List the custom tools of this user."""
    found = await ctx.services.clock.run_in_thread(_find_store(ctx).read)
    own = [each for each in found.tools.values() if each.owner == ctx.principal or each.is_shared]
    listed: list[dict[str, object]] = [
        {"name": each.full_name, "enabled": each.is_enabled, "for": each.script.description} for each in own
    ]
    unusable = [each for each in found.unusable.values() if each.owner == ctx.principal]
    return [*listed, *({"name": each.full_name, "enabled": False, "problem": each.problem} for each in unusable)]


def custom_tool_tools() -> list[Tool]:
    """Return the tools of `CustomTools.Enabled`."""
    return [tools_list, tools_create, tools_update, tools_enable, tools_disable, tools_delete]


def build_custom_tools(tools: Sequence[CustomTool]) -> list[Tool]:
    """Return the tools that are switched on, as they are registered."""
    return [
        build_script_tool(
            each.full_name,
            each.folder,
            each.manifest,
            each.script,
            group=GROUP,
            owner=None if each.is_shared else each.owner,
            confined=True,
            program=each.program,
        )
        for each in tools
        if each.is_enabled
    ]


def refresh_custom_tools(toolbox: Toolbox, store: CustomToolStore, disabled: Sequence[str]) -> None:
    """Register the tools of the store for turns that begin later, if they have changed. Blocks; run it in a thread."""
    found = store.read()
    if toolbox.versions.get(SOURCE) is not found:
        toolbox.versions[SOURCE] = found
        tools = build_custom_tools([*found.tools.values()])
        toolbox.replace(SOURCE, [each for each in tools if each.name not in disabled])


async def _install(ctx: Context, draft: CustomToolDraft, change: str) -> str:
    sources = await collect_untrusted_sources(ctx)
    at = ctx.services.clock.now().isoformat()

    def write(store: CustomToolStore) -> CustomTool:
        act = store.create if change == "created" else store.update
        return act(draft, owner=ctx.principal, at=at, sources=sources)

    return await _apply(ctx, change, write)


async def _apply(ctx: Context, change: str, act: Callable[[CustomToolStore], CustomTool | UnusableCustomTool]) -> str:
    store = _find_store(ctx)
    services: TurnServices = ctx.services

    def run() -> CustomTool | UnusableCustomTool:
        changed = act(store)
        refresh_custom_tools(services.toolbox, store, services.settings.tools.disabled)
        return changed

    try:
        changed = await services.clock.run_in_thread(run)
    except (InputError, NotFound) as error:
        raise ToolError(str(error)) from None
    ctx.emit(CustomToolChanged(tool=changed.full_name, change=change, by=ctx.principal))
    when = "It can be called from the next message on." if change in ("created", "updated", "enabled") else ""
    return f"{changed.full_name} was {change}. {when}".strip()


def _find_store(ctx: Context) -> CustomToolStore:
    store = ctx.services.assistant.custom_tools
    if store is None:
        raise ToolError("custom tools are switched off here")
    return store
