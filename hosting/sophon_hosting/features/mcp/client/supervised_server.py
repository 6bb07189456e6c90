"""One configured MCP server: keeps it connected, and its tools in the toolbox."""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from sophon.clock import Clock
from sophon.errors import InputError, ToolError
from sophon.invisible_characters import escape_invisible
from sophon.tools.registry import Toolbox
from sophon.tools.tool import Tool
from sophon_hosting.features.mcp.client.accepted_tools import AcceptedTools
from sophon_hosting.features.mcp.client.address_resolution import ServerUnusable
from sophon_hosting.features.mcp.client.server_call import ServerCall, note_request
from sophon_hosting.features.mcp.client.server_status import (
    NO_CALLS,
    CallStatistics,
    ServerState,
    ServerStatus,
    ToolStatus,
)
from sophon_hosting.features.mcp.client.server_tools import ServerTools
from sophon_hosting.features.mcp.client.tool_definition import ToolDefinition, find_changed
from sophon_hosting.features.mcp.client.tool_rows import describe_dropped, describe_reader, describe_tool
from sophon_hosting.features.mcp.extra import MISSING_EXTRA
from sophon_hosting.features.mcp.settings import McpServerSettings

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.server_address import ServerAddress
    from sophon_hosting.features.mcp.client.server_connection import ServerConnection, ServerFacts
    from sophon_hosting.features.mcp.client.server_tools import Request

log = logging.getLogger("sophon")

START_SECONDS: Final = 60.0
"""Time of a server to start and to list its tools; the first start of a package may download it."""

LIST_SECONDS: Final = 30.0

MIN_PAUSE_SECONDS: Final = 1.0
"""Time between two lists of the tools; a server that reports changes without end costs no more."""

MAX_ERROR: Final = 1000

RETRY_SECONDS: Final = 60.0
"""Time between two attempts to reach a URL that has failed too often; a program stays off."""

MAX_CRASHES: Final = 5

WINDOW_SECONDS: Final = 60.0
"""Source: OpenParallax, sub-agents."""

MAX_DELAY_SECONDS: Final = 8.0


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
        self._settings, self._clock, self._resolve, self._on_change = settings, clock, resolve, on_change
        self._crash_limit = CrashLimit()
        self._wake = asyncio.Event()
        self._connection: ServerConnection | None = None
        self._last_words = ""
        seconds = settings.timeout.total_seconds()
        factory = ServerTools(settings.id, seconds, question_seconds, self._send, settings.read_only)
        self._tools = OfferedTools(settings, factory, toolbox, accepted, disabled)
        self.statistics: dict[str, CallStatistics] = {}
        """Calls of the tools, by their names at the server."""
        self._lock = asyncio.Lock()
        self._scope: anyio.CancelScope | None = None
        self._is_stopped = False
        self._restarting = asyncio.Event()

    async def run_forever(self) -> None:
        """Keep the server connected until `stop`; one that is given up is off until `restart`."""
        while not self._is_stopped:
            self._restarting.clear()
            with anyio.CancelScope() as self._scope:
                await self._supervise()
            await self._restarting.wait()

    def stop(self) -> None:
        """End `run_forever`, which then ends the program of the server.

        By a scope of anyio, whose cancellation holds until the task has ended: one of asyncio that comes while the SDK
        connects is lost in it.
        """
        self._is_stopped = True
        self._end_attempt()

    async def restart(self) -> ServerStatus:
        """Connect again, with a new crash budget, and return the status after the first attempt.

        Raises InputError for a server that is disabled.
        """
        if not self._settings.enabled:
            raise InputError(f"the MCP server {self._settings.id} is disabled in the settings")
        log.info("the MCP server %s is restarted", self._settings.id)
        self._crash_limit = CrashLimit()
        self.settled.clear()
        self._set("starting", "")
        self._end_attempt()
        with anyio.move_on_after(START_SECONDS):
            await self.settled.wait()
        return self.describe()

    def _end_attempt(self) -> None:
        self._restarting.set()
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
            if not self._restarting.is_set():
                self.settled.set()

    def _plan_restart(self, error: Exception) -> float | None:
        """Count a failure and return the seconds until the next attempt, None if there is none."""
        from sophon_hosting.features.mcp.client.failure_text import describe_end  # lazy: it needs the extra

        text = describe_end(error, self._last_words)
        delay = self._crash_limit.record(self._clock.monotonic())
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
            await self._tools.accept(digests)
            log.info("tools of the MCP server %s were accepted: %s", self._settings.id, ", ".join(digests))
            self._set(self.status.state, None, await self._tools.offer())
        return self.status

    async def _connect_and_follow(self) -> None:
        self._last_words = ""
        address = await self._resolve(self._settings)
        try:
            from sophon_hosting.features.mcp.client.server_connection import connect  # lazy: it needs the extra
        except ImportError as error:  # as with a version of the package that is too old
            raise ServerUnusable(f"{MISSING_EXTRA} ({error})") from error
        # Scopes of anyio, not of the clock, for the reason that `stop` gives.
        with anyio.fail_after(START_SECONDS) as start:
            self._wake.clear()
            async with connect(address, self._wake.set, self._note_last_words) as connection:
                self._note_facts(connection.facts)
                note = await self._refresh(connection)
                start.deadline = math.inf
                self._connection = connection
                self._set("ready", note)
                self.settled.set()
                while True:
                    await self._wake.wait()
                    self._wake.clear()
                    with anyio.fail_after(LIST_SECONDS):
                        note = await self._refresh(connection)
                    self._set("ready", note)
                    await self._clock.sleep(MIN_PAUSE_SECONDS)

    def _note_last_words(self, line: str) -> None:
        self._last_words = line

    def _note_facts(self, facts: "ServerFacts") -> None:
        """Keep what the server says about itself; it is announced with its tools."""
        self.status = replace(self.status, protocol=facts.protocol, software=escape_invisible(facts.software))
        self._tools.set_features(has_resources=facts.has_resources, has_prompts=facts.has_prompts)

    async def _refresh(self, connection: "ServerConnection") -> str:
        """Read the tools, offer them, and return a note about what is left out, "" if nothing is."""
        definitions, has_more = await connection.list_tools()
        async with self._lock:
            self._tools.set_list(definitions, connection.dropped)
            self._set(self.status.state, None, await self._tools.offer())
        return f"it lists more than {len(definitions)} tools; the rest is left out" if has_more else ""

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
            seconds = self._clock.monotonic() - started
            self.statistics[tool] = self.statistics.get(tool, NO_CALLS).with_call(seconds, error)
            note_request(call, self.status, tool, seconds, error)

    def _give_up(self, error: str) -> None:
        log.error("the MCP server %s has failed: %s", self._settings.id, error)
        self._tools.withdraw()
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


class CrashLimit:
    """Counts the failures of one server in a sliding window; `now` is a monotonic time in seconds."""

    def __init__(self) -> None:
        self._failures: deque[float] = deque(maxlen=MAX_CRASHES)

    def record(self, now: float) -> float | None:
        """Count a failure; return the seconds to wait before the next start, None if the budget is used up."""
        while self._failures and now - self._failures[0] >= WINDOW_SECONDS:
            self._failures.popleft()
        self._failures.append(now)
        count = len(self._failures)
        return None if count >= MAX_CRASHES else min(2.0 ** (count - 1), MAX_DELAY_SECONDS)


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
