"""Tools that a user may use."""

from collections.abc import Sequence

from sophon.tools.tool import Tool
from sophon.turn.permissions import build_tool_permissions
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import HUB_CHANNEL


def list_usable_tools(caller: Caller) -> Sequence[Tool]:
    """Return the tools that the user may use; all of them while the guard Authorization is off."""
    services, user = caller.host.services, caller.user.id
    visible = [each for each in services.registry if each.owner in (None, user)]
    if not services.settings.guards.authorization.enabled:
        return visible
    allowed = build_tool_permissions(
        services.settings, user, level=caller.rights.level, at=caller.now(), channel=HUB_CHANNEL
    )
    return allowed.filter(visible)
