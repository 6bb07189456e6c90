"""Operations on custom tools: switch, share, delete. Users have their own, operators all; sharing is for operators."""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from sophon.composition.part_factories import create_custom_tool_store
from sophon.errors import InputError, NotFound
from sophon.events import CustomToolChanged
from sophon.settings import Settings
from sophon.skills.custom_tools import CustomTool, CustomToolStore, UnusableCustomTool
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.tools.results import ChangedCustomTool, DeletedCustomTool
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Needs, Request
from sophon_hosting.operations.table import Table

table = Table("tools")

AnyTool: TypeAlias = CustomTool | UnusableCustomTool
T = TypeVar("T", CustomTool, AnyTool)

log = logging.getLogger("sophon")


def open_custom_tools(settings: Settings, folder: Path) -> CustomToolStore:
    """Return the custom tools of the settings. Raises InputError if they are off."""
    store = create_custom_tool_store(settings, folder)
    if store is None:
        raise InputError("custom tools are off: set CustomTools.Enabled")
    return store


def _find_store(caller: Caller) -> CustomToolStore | None:
    """Return the custom tools of the host, None if they are off. Without a host raises InputError if they are off."""
    host = caller.running_host
    return open_custom_tools(caller.settings, caller.folder) if host is None else host.services.assistant.custom_tools


def _refresh(caller: Caller) -> None:
    """Give the turns of this process the custom tools as they are now. Blocks."""
    from sophon.builtin_tools.custom_tool_management import refresh_custom_tools  # lazy: off by default

    services = None if caller.running_host is None else caller.running_host.services
    if services is not None and services.assistant.custom_tools is not None:
        refresh_custom_tools(services.toolbox, services.assistant.custom_tools, services.settings.tools.disabled)


async def _find(caller: Caller, name: str) -> AnyTool | None:
    store = _find_store(caller)
    if store is not None:
        with suppress(NotFound):
            return await caller.clock.run_in_thread(lambda: store.find_any(name, None))
    return None


CUSTOM_TOOL: Subject[AnyTool] = Subject("custom tool", "name", _find, lambda tool: tool.owner)


class NamedCustomTool(Request):
    """A custom tool by its name."""

    name: Annotated[str, Doc("Name of a custom tool, with or without `custom.`.")]


class CustomToolChange(NamedCustomTool):
    """Change of a custom tool; `shared` is for operators."""

    enabled: Annotated[bool | None, Doc("Switch it on or off.")] = None
    shared: Annotated[
        bool | None, Needs("Operator", unless=(None,)), Doc("Give it to all users, or back to its user alone.")
    ] = None


@table.operation("PATCH /api/tools/{name}", needs="token: Approvals", on=CUSTOM_TOOL, example={"enabled": False})
async def change_custom_tool(caller: Caller, request: CustomToolChange, tool: AnyTool) -> ChangedCustomTool:
    """Switch a custom tool on or off, or share it; logged. To end the sharing is for operators, too."""
    found = [
        (request.enabled is True, "enabled"),
        (request.enabled is False, "disabled"),
        (request.shared is True, "shared"),
        (request.shared is False, "unshared"),
    ]
    changed = await _act(
        caller,
        [change for is_meant, change in found if is_meant],
        lambda store: store.change(request.name, caller.owner, enabled=request.enabled, shared=request.shared),
    )
    return {"name": changed.full_name, "enabled": changed.is_enabled, "shared": changed.is_shared}


@table.operation("DELETE /api/tools/{name}", needs="token: Approvals", on=CUSTOM_TOOL, ok=True)
async def delete_custom_tool(caller: Caller, request: NamedCustomTool, tool: AnyTool) -> DeletedCustomTool:
    """Delete a custom tool with its program; logged."""
    deleted = await _act(caller, ["deleted"], lambda store: store.delete(request.name, caller.owner))
    return {"name": deleted.full_name}


async def list_own(caller: Caller) -> list[AnyTool]:
    """Return the user's custom tools, also those that are off or unusable; for operators those of all users."""
    store = _find_store(caller)
    if store is None:
        return []
    found = await caller.clock.run_in_thread(store.read)
    listed: list[AnyTool] = [*found.tools.values(), *found.unusable.values()]
    return [each for each in listed if caller.owner in (None, each.owner)]


async def _act(caller: Caller, changes: Iterable[str], act: Callable[[CustomToolStore], T]) -> T:
    store = _find_store(caller)
    assert store is not None, "a custom tool was found"

    def run() -> T:
        changed = act(store)
        _refresh(caller)
        return changed

    changed = await caller.clock.run_in_thread(run)
    for change in changes:
        log.info("the custom tool %s was %s by %s", changed.name, change, caller.user.id)
        caller.events.emit(CustomToolChanged(tool=changed.full_name, change=change, by=caller.user.id))
    return changed
