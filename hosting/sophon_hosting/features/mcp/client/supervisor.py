"""Supervisor of the configured MCP servers: one task for each, started in the background."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.settings import Settings
from sophon.tools.registry import Toolbox
from sophon_hosting.features.mcp.client.accepted_tools import AcceptedTools
from sophon_hosting.features.mcp.client.address_resolution import resolve_address
from sophon_hosting.features.mcp.client.server_status import ServerStatus
from sophon_hosting.features.mcp.client.supervised_server import SupervisedServer
from sophon_hosting.features.mcp.settings import McpSettings

if TYPE_CHECKING:
    from sophon_hosting.store.channel_state.sql import ChannelStateStore

QUESTION_SECONDS: Final = 300.0
"""Time that one call may wait in all for answers to questions of its server; meanwhile the turn is held."""


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
        states: "ChannelStateStore",
        clock: Clock,
        environment: Mapping[str, str],
        folder: Path,
        on_change: Callable[[ServerStatus], None] = lambda _: None,
    ) -> None:
        accepted = AcceptedTools(states)
        resolve = partial(resolve_address, settings=settings, environment=environment, folder=folder)
        asks = settings.approval.questions
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
                question_seconds=QUESTION_SECONDS if asks else 0.0,
                on_change=on_change,
            )
            for each in settings.section(McpSettings).servers
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
        return [each.describe() for each in self.servers.values()]

    async def accept(self, server: str, digests: Mapping[str, str]) -> ServerStatus:
        """Accept tools of a server; see `SupervisedServer.accept`. Raises NotFound, InputError, StoreError."""
        return await self._find(server).accept(digests)

    async def restart(self, server: str) -> ServerStatus:
        """Connect to a server again; see `SupervisedServer.restart`. Raises NotFound, InputError."""
        return await self._find(server).restart()

    def _find(self, server: str) -> SupervisedServer:
        if server not in self.servers:
            raise NotFound("MCP server", server, [*self.servers][:5])
        return self.servers[server]
