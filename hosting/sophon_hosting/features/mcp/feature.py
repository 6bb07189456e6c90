"""Feature declaration: MCP servers whose tools a host offers: operations, and the supervisor of the servers."""

from typing import TYPE_CHECKING, Final

from sophon_hosting.feature_services import ServiceKey
from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase
from sophon_hosting.features.mcp.supervisor_factory import create_mcp_supervisor

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.supervisor import McpSupervisor

MCP_SERVERS: Final = ServiceKey["McpSupervisor"]("mcp.servers")


def _create_supervisor(process: HostProcess) -> "McpSupervisor | None":
    events = process.host.event_bus if process.serves_clients else None
    return create_mcp_supervisor(process.services, process.environment, events)


FEATURE: Final = Feature(
    "mcp",
    page="mcp.md",
    operations=["sophon_hosting.features.mcp.operations"],
    services=[FeatureService(_create_supervisor, Phase.TOOLS, MCP_SERVERS)],
    events=[
        "sophon_hosting.features.mcp.events:McpRequested",
        "sophon_hosting.features.mcp.events:McpServerChanged",
    ],
)
