"""Tools that a user may use, and the custom tools of the user."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sophon.builtin_tools.custom_tools import refresh_custom_tools
from sophon.errors import NotFound
from sophon.events import CustomToolChanged
from sophon.skills.custom_tools import CustomTool, CustomToolStore, UnusableCustomTool
from sophon.tools.tool import Tool
from sophon.turn_permissions import build_tool_permissions
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.tool_errors import ToolError

AnyTool = TypeVar("AnyTool", bound=CustomTool | UnusableCustomTool)

log = logging.getLogger("sophon")


class UserTools:
    """The tools of one user; operators have the custom tools of all users."""

    def __init__(self, access: Caller) -> None:
        self._access = access

    async def find_error(self, tool: str) -> ToolError | None:
        """Return the last error of a tool in a session of the user, for operators in any; None if there was none.

        Without FullHistory it has no text.
        """
        for error in self._access.host.tool_errors.find(tool):
            session = await self._access.store.sessions.find(error.session_id)
            is_own = session is not None and session.owner == self._access.user.id
            if is_own or self._access.user.operator:
                return error if self._access.view is None else replace(error, text="")
        return None

    async def list_custom(self) -> list[CustomTool | UnusableCustomTool]:
        """Return the user's custom tools, also those that are off or unusable; for operators those of all users."""
        self._access.rights.require_scope("Read")
        store = self._access.host.services.custom_tools
        if store is None:
            return []
        found = await self._access.host.services.clock.run_in_thread(store.read)
        listed: list[CustomTool | UnusableCustomTool] = [*found.tools.values(), *found.unusable.values()]
        return [each for each in listed if self._access.user.operator or each.owner == self._access.user.id]

    async def change_custom(self, name: str, *, enabled: bool | None = None, shared: bool | None = None) -> CustomTool:
        """Switch a custom tool of the user on or off, or share it, which is for operators only; logged.

        Raises Forbidden, NotFound, InputError.
        """
        if shared is not None:
            self._access.require_operator()
        changes = {"enabled": enabled is True, "disabled": enabled is False, "shared": shared is True}
        changes["unshared"] = shared is False
        return await self._act_on_custom(
            name,
            [change for change, is_meant in changes.items() if is_meant],
            lambda store, user: store.change(name, user, enabled=enabled, shared=shared),
        )

    async def delete_custom(self, name: str) -> CustomTool | UnusableCustomTool:
        """Delete a custom tool of the user, an operator that of any user; logged. Raises NotFound, InputError."""
        return await self._act_on_custom(name, ["deleted"], lambda store, user: store.delete(name, user))

    async def _act_on_custom(
        self, name: str, changes: Sequence[str], act: Callable[[CustomToolStore, str | None], AnyTool]
    ) -> AnyTool:
        self._access.rights.require_scope("Approvals")
        services = self._access.host.services
        store = services.custom_tools
        if store is None:
            raise NotFound("custom tool", name)
        user = None if self._access.user.operator else self._access.user.id

        def run() -> AnyTool:
            changed = act(store, user)
            refresh_custom_tools(services.toolbox, store, services.settings.tools.disabled)
            return changed

        changed = await services.clock.run_in_thread(run)
        for change in changes:
            log.info("the custom tool %s was %s by %s", changed.name, change, self._access.user.id)
            self._access.host.event_bus.emit(
                CustomToolChanged(tool=changed.full_name, change=change, by=self._access.user.id)
            )
        return changed

    def list(self) -> Sequence[Tool]:
        """Return the tools that the user may use; all of them while the guard Authorization is off."""
        services = self._access.host.services
        visible = [each for each in services.registry if each.owner in (None, self._access.user.id)]
        if not services.settings.guards.authorization.enabled:
            return visible
        allowed = build_tool_permissions(
            services.settings,
            self._access.user.id,
            level=self._access.rights.level,
            at=services.clock.now(),
            channel=HUB_CHANNEL,
        )
        return allowed.filter(visible)
