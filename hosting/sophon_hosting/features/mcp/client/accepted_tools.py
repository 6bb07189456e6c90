"""Hashes of the tool definitions that an operator has accepted, kept in the store for each MCP server."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry

if TYPE_CHECKING:
    from sophon_hosting.store.channel_state.sql import ChannelStateStore

CHANNEL: Final = "mcp"
KIND: Final = "mcp_tools"
KEY: Final = "accepted"


class AcceptedTools:
    """Accepted definitions by the name of the tool; a server without any has not been connected yet."""

    def __init__(self, states: "ChannelStateStore") -> None:
        self._states = states

    async def load(self, server: str) -> Mapping[str, str] | None:
        """Return the accepted hash of each tool of a server, None before its first connection. Raises StoreError."""
        entry = await self._states.get(CHANNEL, server, KIND, KEY)
        return None if entry is None else {str(name): str(each) for name, each in entry.value["tools"].items()}

    async def save(self, server: str, digests: Mapping[str, str]) -> None:
        """Replace the accepted hashes of a server. Raises StoreError."""
        await self._states.put(ChannelStateEntry(CHANNEL, server, KIND, KEY, {"tools": dict(digests)}))

    async def forget(self, server: str) -> None:
        """Forget a server: its next connection is its first one. Raises StoreError."""
        await self._states.remove(CHANNEL, server, KIND, KEY)
