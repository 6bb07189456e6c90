"""Supervisor of the configured MCP servers: one task for each, started in the background."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sophon.builtin_tools.command_environment import build_command_environment
from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.mcp.accepted_tools import AcceptedTools
from sophon.mcp.server_status import ServerStatus
from sophon.mcp.supervised_server import ServerUnusable, SupervisedServer
from sophon.settings import McpServerSettings, Secret, Settings
from sophon.stores.channel_state.contract import ChannelStateStore
from sophon.tools.registry import Toolbox

if TYPE_CHECKING:
    from sophon.mcp.server_connection import ServerAddress


class McpSupervisor:
    """The servers of `Mcp.Servers`; their tools come into the toolbox as they connect.

    `environment` is where secrets are looked up, and `folder` the working directory of the programs. The store must be
    open while servers run.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        toolbox: Toolbox,
        states: ChannelStateStore,
        clock: Clock,
        environment: Mapping[str, str],
        folder: Path,
        on_change: Callable[[ServerStatus], None] = lambda _: None,
    ) -> None:
        accepted = AcceptedTools(states)
        resolve = partial(resolve_address, settings=settings, environment=environment, folder=folder)
        self._clock = clock
        self._tasks: list[asyncio.Task[None]] = []
        self.servers = {
            each.id: SupervisedServer(
                each,
                toolbox,
                accepted,
                clock,
                resolve=resolve,
                disabled=frozenset(settings.tools.disabled),
                on_change=on_change,
            )
            for each in settings.mcp.servers
        }

    def start(self) -> None:
        """Start connecting; returns at once."""
        self._tasks = [asyncio.create_task(each.run_forever()) for each in self.servers.values()]

    async def wait_settled(self, seconds: float) -> None:
        """Wait until each server has connected or failed once, at most `seconds`."""
        try:
            async with self._clock.timeout(seconds):
                for each in self.servers.values():
                    await each.settled.wait()
        except TimeoutError:
            pass

    async def stop(self) -> None:
        """Disconnect; programs and their children have ended on return."""
        for each in self.servers.values():
            each.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    def list_status(self) -> list[ServerStatus]:
        """Return the status of all servers, in the order of the settings."""
        return [each.status for each in self.servers.values()]

    async def accept(self, server: str, digests: Mapping[str, str]) -> ServerStatus:
        """Accept tools of a server; see `SupervisedServer.accept`. Raises NotFound, InputError, StoreError."""
        if server not in self.servers:
            raise NotFound("MCP server", server, [*self.servers][:5])
        return await self.servers[server].accept(digests)


def resolve_address(
    server: McpServerSettings, *, settings: Settings, environment: Mapping[str, str], folder: Path
) -> "ServerAddress":
    """Return how a server is reached, with its secrets. Raises ServerUnusable for a missing secret or package."""
    if find_spec("mcp") is None:
        raise ServerUnusable("MCP servers need the extra mcp: pip install 'sophon-agents[mcp]'")
    from sophon.mcp.server_connection import ServerAddress  # lazy: it needs the extra

    seconds = server.timeout.total_seconds()
    if server.url is not None:
        headers = _resolve_all("Headers", server.headers, environment)
        return ServerAddress(url=server.url, headers=headers, call_seconds=seconds)
    variables = build_command_environment(environment, settings) | _resolve_all("Env", server.env, environment)
    command = (server.command or "", *server.args)
    return ServerAddress(command, variables, folder=folder, call_seconds=seconds)


def _resolve_all(key: str, secrets: Mapping[str, Secret], environment: Mapping[str, str]) -> dict[str, str]:
    found = {name: secret.resolve(environment) for name, secret in secrets.items()}
    missing = [
        f"{key}.{name}: {secrets[name].source_description} is missing or empty" for name in found if not found[name]
    ]
    if missing:
        raise ServerUnusable("; ".join(missing))
    return {name: value for name, value in found.items() if value is not None}
