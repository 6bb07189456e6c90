"""Address of a configured MCP server: its program or URL, with secrets from the environment, and its sandbox."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sophon.builtin_tools.command_environment import build_command_environment
from sophon.builtin_tools.programs import build_sandbox_environment
from sophon.mcp.server_sandbox import confine
from sophon.mcp.server_unusable import ServerUnusable
from sophon.settings import McpServerSettings, Secret, Settings

if TYPE_CHECKING:
    from sophon.mcp.server_address import ServerAddress


async def resolve_address(
    server: McpServerSettings, *, settings: Settings, environment: Mapping[str, str], folder: Path
) -> "ServerAddress":
    """Return how a server is reached, with its secrets.

    Raises ServerUnusable for a missing secret or package, and if a sandbox is demanded that there is not.
    """
    if find_spec("mcp") is None:
        raise ServerUnusable("MCP servers need the extra mcp: pip install 'sophon-agents[mcp]'")
    from sophon.mcp.server_address import ServerAddress  # lazy: it needs the extra

    common = ServerAddress(
        call_seconds=server.timeout.total_seconds(),
        protocol="legacy" if server.protocol == "Legacy" else "auto",
        asks=settings.approval.questions,
    )
    if server.url is not None:
        return replace(common, url=server.url, headers=_resolve_all("Headers", server.headers, environment))
    own = _resolve_all("Env", server.env, environment)
    variables, command = build_command_environment(environment, settings), (server.command or "", *server.args)
    if server.sandbox != "Off":
        variables = build_sandbox_environment(variables)
        command = await confine(server, command, settings, folder)
    return replace(common, command=command, environment=variables | own, folder=folder)


def _resolve_all(key: str, secrets: Mapping[str, Secret], environment: Mapping[str, str]) -> dict[str, str]:
    found = {name: secret.resolve(environment) for name, secret in secrets.items()}
    missing = [
        f"{key}.{name}: {secrets[name].source_description} is missing or empty" for name in found if not found[name]
    ]
    if missing:
        raise ServerUnusable("; ".join(missing))
    return {name: value for name, value in found.items() if value is not None}
