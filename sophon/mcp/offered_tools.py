"""Tools of one server in the toolbox: those of its list whose definitions are accepted, and the readers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sophon.errors import InputError
from sophon.mcp.accepted_tools import AcceptedTools
from sophon.mcp.server_status import ToolStatus
from sophon.mcp.server_tools import ServerTools
from sophon.mcp.tool_definition import ToolDefinition
from sophon.mcp.tool_pins import find_changed
from sophon.mcp.tool_rows import describe_dropped, describe_reader, describe_tool
from sophon.settings import McpServerSettings
from sophon.tools.registry import Toolbox
from sophon.tools.tool import Tool


class OfferedTools:
    """The last list of a server, and what of it is in the toolbox; for one caller at a time.

    A tool whose definition is the same stays the same object, so that nothing is built anew.
    """

    def __init__(
        self,
        settings: McpServerSettings,
        factory: ServerTools,
        toolbox: Toolbox,
        accepted: AcceptedTools,
        disabled: Collection[str],
    ) -> None:
        self._settings, self._server, self._factory, self._toolbox = settings, settings.id, factory, toolbox
        self._accepted, self._disabled = accepted, disabled
        self._definitions: Mapping[str, ToolDefinition] = {}
        self._dropped: Mapping[str, str] = {}
        self._tools: dict[str, tuple[str, Tool]] = {}
        self._features = (False, False)
        self._readers: list[Tool] = []

    def set_features(self, *, has_resources: bool, has_prompts: bool) -> None:
        """Set what the server has besides tools; the readers stay the same if that does."""
        if (has_resources, has_prompts) != self._features:
            self._features = (has_resources, has_prompts)
            self._readers = self._factory.create_readers(has_resources=has_resources, has_prompts=has_prompts)

    def set_list(self, definitions: Sequence[ToolDefinition], dropped: Mapping[str, str]) -> None:
        """Set the list of the server; `dropped` are the entries that are not valid, with the reason."""
        self._definitions = {each.name: each for each in definitions}
        self._dropped = {name: reason for name, reason in dropped.items() if name not in self._definitions}

    async def accept(self, digests: Mapping[str, str]) -> None:
        """Accept definitions, given by name with the digest that was shown.

        Raises InputError if there is no such tool, or its definition is another one by now; nothing is accepted then.
        """
        for name, digest in digests.items():
            found = self._definitions.get(name)
            if found is None:
                raise InputError(f"the MCP server {self._server} has no tool {name!r} now")
            if found.digest != digest:
                raise InputError(f"the tool {name!r} has changed since it was shown; look at it again")
        before = await self._accepted.load(self._server) or {}
        await self._accepted.save(self._server, {**before, **digests})

    async def offer(self) -> tuple[ToolStatus, ...]:
        """Put what is accepted into the toolbox, everything at the very first connection; return the rows of all."""
        offered = {name: each.digest for name, each in self._definitions.items()}
        accepted = await self._accepted.load(self._server)
        if accepted is None:
            await self._accepted.save(self._server, offered)
            accepted = offered
        changed = find_changed(accepted, offered)
        rows = [describe_tool(self._settings, each, self._disabled, changed) for each in self._definitions.values()]
        self._tools = {row.name: self._keep(self._definitions[row.name]) for row in rows if row.state == "offered"}
        taken = {f"{self._server}.{name}" for name in self._definitions} | set(self._disabled)
        readers = [reader for reader in self._readers if reader.name not in taken]
        self._replace([*(tool for _, tool in self._tools.values()), *readers])
        dropped = [describe_dropped(name, reason) for name, reason in self._dropped.items()]
        return (
            *map(self._check_registered, rows),
            *dropped,
            *(describe_reader(self._server, each) for each in readers),
        )

    def withdraw(self) -> None:
        """Take all tools out of the toolbox."""
        self._tools, self._definitions = {}, {}
        self._replace([])

    def _keep(self, definition: ToolDefinition) -> tuple[str, Tool]:
        before = self._tools.get(definition.name)
        if before is not None and before[0] == definition.digest:
            return before
        return definition.digest, self._factory.create_tool(definition)

    def _check_registered(self, row: ToolStatus) -> ToolStatus:
        registered = self._toolbox.registry.get(f"{self._server}.{row.name}")
        if row.state != "offered" or registered is self._tools[row.name][1]:
            return row
        return replace(row, state="unusable", reason="the name is taken by another tool")

    def _replace(self, tools: Sequence[Tool]) -> None:
        self._toolbox.replace(f"mcp:{self._server}", [*tools])
