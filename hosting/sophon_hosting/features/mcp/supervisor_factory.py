"""The MCP servers of a host: their supervisor, if the settings name any, whose changes become events."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sophon.errors import SettingsError
from sophon.events import EventSink, NullEventSink
from sophon.services import Services
from sophon_hosting.features.mcp.events import McpServerChanged
from sophon_hosting.features.mcp.extra import MISSING_EXTRA, has_extra
from sophon_hosting.features.mcp.settings import McpSettings
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.server_status import ServerStatus
    from sophon_hosting.features.mcp.client.supervisor import McpSupervisor


def create_mcp_supervisor(
    services: Services, environment: Mapping[str, str], events: EventSink | None = None
) -> "McpSupervisor | None":
    """Return the supervisor of `Mcp.Servers`, not started; None without any, and then nothing of MCP is imported.

    Raises SettingsError if one is enabled and the extra is not installed.
    """
    servers = services.settings.section(McpSettings).servers
    if not servers:
        return None
    if any(each.enabled for each in servers) and not has_extra():
        raise SettingsError([f"Mcp.Servers: {MISSING_EXTRA}"])
    from sophon_hosting.features.mcp.client.supervisor import McpSupervisor  # lazy: see above

    listener = NullEventSink() if events is None else events

    def announce(status: "ServerStatus") -> None:
        states = [each.state for each in status.tools]
        listener.emit(
            McpServerChanged(
                server=status.id,
                state=status.state,
                error=status.error,
                tools=states.count("offered"),
                changed=states.count("changed"),
            )
        )

    return McpSupervisor(
        services.settings,
        toolbox=services.toolbox,
        states=host_store(services).channel_state,
        clock=services.clock,
        environment=environment,
        folder=services.folder,
        on_change=announce,
    )
