"""MCP servers, for operators."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sophon.errors import NotFound
from sophon_hosting.client_api.user_access import UserAccess

if TYPE_CHECKING:
    from sophon.mcp.server_status import ServerStatus

log = logging.getLogger("sophon")


class McpServers:
    """The MCP servers whose tools the host offers, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def accept_tools(self, server: str, digests: Mapping[str, str]) -> "ServerStatus":
        """Accept definitions of tools, each given with its digest, and return the server. Operators only; logged.

        Raises Forbidden, NotFound, InputError for a definition that is another one by now, and StoreError.
        """
        self._access.require_operator()
        if self._access.host.mcp is None:
            raise NotFound("MCP server", server)
        log.info("%s accepts tools of the MCP server %s", self._access.user.id, server)
        return await self._access.host.mcp.accept(server, digests)

    async def restart(self, server: str) -> "ServerStatus":
        """Connect to a server again, with a new crash budget, and return it. Operators only; logged.

        Raises Forbidden, NotFound, InputError for a disabled server.
        """
        self._access.require_operator()
        if self._access.host.mcp is None:
            raise NotFound("MCP server", server)
        log.info("%s restarts the MCP server %s", self._access.user.id, server)
        return await self._access.host.mcp.restart(server)

    def list(self) -> "Sequence[ServerStatus]":
        """Return the MCP servers whose tools the host offers. Operators only. Raises Forbidden."""
        self._access.require_operator()
        return [] if self._access.host.mcp is None else self._access.host.mcp.list_status()
