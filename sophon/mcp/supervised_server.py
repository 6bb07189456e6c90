"""One configured MCP server: keeps it connected, and its tools in the toolbox."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from sophon.clock import Clock
from sophon.errors import InputError, ToolError
from sophon.mcp.accepted_tools import AcceptedTools
from sophon.mcp.call_statistics import NO_CALLS, CallStatistics
from sophon.mcp.crash_budget import MAX_CRASHES, CrashBudget
from sophon.mcp.server_call import ServerCall
from sophon.mcp.server_status import ServerState, ServerStatus, ToolStatus
from sophon.mcp.server_tools import ServerTools
from sophon.mcp.server_unusable import ServerUnusable
from sophon.mcp.tool_definition import ToolDefinition
from sophon.mcp.tool_pins import find_changed
from sophon.mcp.tool_rows import describe_dropped, describe_reader, describe_tool
from sophon.settings import McpServerSettings
from sophon.tools.registry import Toolbox
from sophon.tools.tool import Tool
from sophon.visible_text import escape_invisible

if TYPE_CHECKING:
    from sophon.mcp.server_address import ServerAddress, ServerFacts
    from sophon.mcp.server_connection import ServerConnection
    from sophon.mcp.server_tools import Request

log = logging.getLogger("sophon")

START_SECONDS: Final = 60.0
"""Time of a server to start and to list its tools; the first start of a package may download it."""

LIST_SECONDS: Final = 30.0
MIN_PAUSE_SECONDS: Final = 1.0
"""Time between two lists of the tools; a server that reports changes without end costs no more."""


MAX_ERROR: Final = 1000
RETRY_SECONDS: Final = 60.0
"""Time between two attempts to reach a URL that has failed too often; a program stays off."""


class SupervisedServer:
    """Connects to a server again after a failure, as long as its crash budget lasts, and then takes its tools away.

    A program then stays off; a URL is tried again each minute, which starts nothing.

    Between two attempts the tools stay, and their calls fail at once: a turn and a provider's cache need not change for
    a restart. `on_change` is called with each new status. After a failed or cancelled call the server is asked for its
    tools: one that no longer answers is started again.
    """

    def __init__(
        self,
        settings: McpServerSettings,
        toolbox: Toolbox,
        accepted: AcceptedTools,
        clock: Clock,
        *,
        resolve: "Callable[[McpServerSettings], Awaitable[ServerAddress]]",
        disabled: Collection[str] = (),
        question_seconds: float = 0.0,
        on_change: Callable[[ServerStatus], None] = lambda _: None,
    ) -> None:
        self.status = ServerStatus(settings.id, "starting" if settings.enabled else "disabled")
        self.settled = asyncio.Event()
        """Set once the first attempt to connect has ended, well or not."""
        self._settings, self._toolbox, self._accepted, self._clock = settings, toolbox, accepted, clock
        self._resolve, self._disabled, self._on_change = resolve, disabled, on_change
        self._source = f"mcp:{settings.id}"
        self._budget = CrashBudget()
        self._wake = asyncio.Event()
        self._connection: ServerConnection | None = None
        self._definitions: Mapping[str, ToolDefinition] = {}
        self._tools: dict[str, tuple[str, Tool]] = {}
        self._has_more = False
        self._dropped: Mapping[str, str] = {}
        self._features = (False, False)
        self._readers: list[Tool] = []
        self._factory = ServerTools(settings.id, settings.timeout.total_seconds(), question_seconds, self._send)
        self.statistics: dict[str, CallStatistics] = {}
        """Calls of the tools, by their names at the server."""
        self._lock = asyncio.Lock()
        self._scope: anyio.CancelScope | None = None
        self._is_stopped = False

    async def run_forever(self) -> None:
        """Keep the server connected until `stop`, or until it is given up."""
        with anyio.CancelScope() as self._scope:
            if not self._is_stopped:
                await self._supervise()

    def stop(self) -> None:
        """End `run_forever`, which then ends the program of the server.

        By a scope of anyio, whose cancellation holds until the task has ended: one of asyncio that comes while the SDK
        connects is lost in it.
        """
        self._is_stopped = True
        if self._scope is not None:
            self._scope.cancel()

    async def _supervise(self) -> None:
        try:
            while self._settings.enabled:
                try:
                    await self._connect_and_follow()
                except ServerUnusable as error:
                    self._give_up(str(error))
                    return
                except Exception as error:  # noqa: BLE001 - whatever a server does, it costs its own tools only
                    self._connection = None
                    delay = self._plan_restart(error)
                    self.settled.set()
                    if delay is None:
                        return
                    await self._clock.sleep(delay)
        finally:
            self._connection = None
            self.settled.set()

    def _plan_restart(self, error: Exception) -> float | None:
        """Count a failure and return the seconds until the next attempt, None if there is none."""
        from sophon.mcp.failure_text import describe_failure  # lazy: it needs the extra

        text = describe_failure(error)
        delay = self._budget.record(self._clock.monotonic())
        if delay is not None:
            log.warning("the MCP server %s has failed and is started again: %s", self._settings.id, text)
            self._set("starting", text)
            return delay
        self._give_up(f"{text} ({MAX_CRASHES} failures within a minute)")
        return None if self._settings.url is None else RETRY_SECONDS

    def describe(self) -> ServerStatus:
        """Return the status, with the calls of each tool."""
        tools = tuple(replace(each, calls=self.statistics.get(each.name, NO_CALLS)) for each in self.status.tools)
        return replace(self.status, tools=tools)

    async def accept(self, digests: Mapping[str, str]) -> ServerStatus:
        """Accept the definitions of tools, given by name with the digest that was shown, and return the new status.

        Raises InputError if there is no such tool, or its definition is another one by now; nothing is accepted then.
        """
        async with self._lock:
            for name, digest in digests.items():
                found = self._definitions.get(name)
                if found is None:
                    raise InputError(f"the MCP server {self._settings.id} has no tool {name!r} now")
                if found.digest != digest:
                    raise InputError(f"the tool {name!r} has changed since it was shown; look at it again")
            before = await self._accepted.load(self._settings.id) or {}
            await self._accepted.save(self._settings.id, {**before, **digests})
            log.info("tools of the MCP server %s were accepted: %s", self._settings.id, ", ".join(digests))
            await self._offer()
        return self.status

    async def _connect_and_follow(self) -> None:
        from sophon.mcp.server_connection import connect  # lazy: it needs the extra

        address = await self._resolve(self._settings)
        # Scopes of anyio, not of the clock, for the reason that `stop` gives.
        with anyio.fail_after(START_SECONDS) as start:
            self._wake.clear()
            async with connect(address, self._wake.set) as connection:
                self._note_facts(connection.facts)
                await self._refresh(connection)
                start.deadline = math.inf
                self._connection = connection
                self._set_ready()
                self.settled.set()
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    with anyio.fail_after(LIST_SECONDS):
                        await self._refresh(connection)
                    self._set_ready()
                    await self._clock.sleep(MIN_PAUSE_SECONDS)

    def _note_facts(self, facts: "ServerFacts") -> None:
        """Keep what the server says about itself, and the tools that read what it has, the same after a restart."""
        software = escape_invisible(facts.software)
        self.status = replace(self.status, protocol=facts.protocol, software=software)  # announced with its tools
        features = (facts.has_resources, facts.has_prompts)
        if features != self._features:
            self._features = features
            self._readers = self._factory.create_readers(has_resources=features[0], has_prompts=features[1])

    async def _refresh(self, connection: "ServerConnection") -> None:
        definitions, has_more = await connection.list_tools()
        async with self._lock:
            self._definitions = {each.name: each for each in definitions}
            self._dropped = {name: why for name, why in connection.dropped.items() if name not in self._definitions}
            self._has_more = has_more
            await self._offer()

    async def _offer(self) -> None:
        """Put what is accepted of the definitions into the toolbox; all of them at the very first connection."""
        offered = {name: each.digest for name, each in self._definitions.items()}
        accepted = await self._accepted.load(self._settings.id)
        if accepted is None:
            await self._accepted.save(self._settings.id, offered)
            accepted = offered
        changed, own = find_changed(accepted, offered), self._settings.id
        rows = [describe_tool(own, each, self._disabled, changed) for each in self._definitions.values()]
        kept = {row.name: self._keep_tool(self._definitions[row.name]) for row in rows if row.state == "offered"}
        self._tools = kept
        taken = {f"{own}.{name}" for name in self._definitions} | set(self._disabled)
        readers = [reader for reader in self._readers if reader.name not in taken]
        self._toolbox.replace(self._source, [*(tool for _, tool in kept.values()), *readers])
        registry = self._toolbox.registry
        for index, row in enumerate(rows):
            if row.state == "offered" and registry.get(f"{own}.{row.name}") is not kept[row.name][1]:
                rows[index] = replace(row, state="unusable", reason="the name is taken by another tool")
        rows += [describe_dropped(name, reason) for name, reason in self._dropped.items()]
        rows += [describe_reader(own, reader) for reader in readers]
        self._set(self.status.state, None, tuple(rows))

    def _set_ready(self) -> None:
        note = f"it lists more than {len(self._definitions)} tools; the rest is left out" if self._has_more else ""
        self._set("ready", note)

    def _keep_tool(self, definition: ToolDefinition) -> tuple[str, Tool]:
        """Return the tool of a definition; the one of before, if it is the same, so that nothing is built anew."""
        before = self._tools.get(definition.name)
        if before is not None and before[0] == definition.digest:
            return before
        return definition.digest, self._factory.create_tool(definition)

    async def _send(self, tool: str, request: "Request", call: ServerCall) -> str:
        """Send a request of one of the tools, and count it."""
        connection = self._connection
        if connection is None:
            raise ToolError(f"the MCP server {self._settings.id} is not connected: {self.status.error or 'it starts'}")
        started, error = self._clock.monotonic(), ""
        try:
            return await request(connection, call)
        except BaseException as failure:
            self._wake.set()
            error = str(failure)[:MAX_ERROR] if isinstance(failure, ToolError) else "it was stopped before its end"
            raise
        finally:
            earlier = self.statistics.get(tool, NO_CALLS)
            self.statistics[tool] = earlier.with_call(self._clock.monotonic() - started, error)

    def _give_up(self, error: str) -> None:
        log.error("the MCP server %s has failed: %s", self._settings.id, error)
        self._tools, self._definitions = {}, {}
        self._toolbox.replace(self._source, [])
        self._set("failed", error, ())

    def _set(self, state: ServerState, error: str | None = None, tools: tuple[ToolStatus, ...] | None = None) -> None:
        before = self.status
        if error is None:
            error = before.error if before.state == state else ""
        self._set_status(replace(before, state=state, error=error, tools=before.tools if tools is None else tools))

    def _set_status(self, status: ServerStatus) -> None:
        if status != self.status:
            self.status = status
            self._on_change(status)
