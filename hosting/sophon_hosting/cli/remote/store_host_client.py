"""Host client for when no host runs: reads its store, and writes decisions and cancellations for its next start."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

from sophon.clock import SystemClock
from sophon.errors import NotFound
from sophon.operator_policy import OperatorPolicy
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon.stores.contract import Store
from sophon.stores.events.contract import LoggedEvent, merge_traces
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon_hosting.cli.bootstrap import run_with_store
from sophon_hosting.cli.console.output import write_notice
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.stored_schedules import (
    add_stored_schedule,
    change_stored_schedule,
    get_stored_schedule,
    list_stored_schedules,
    remove_stored_schedule,
)
from sophon_hosting.client_api.authentication import find_operators
from sophon_hosting.client_api.stored_caller import RunningHostRequired
from sophon_hosting.features.mcp.results import mcp_server_to_json
from sophon_hosting.features.sessions.history_results import logged_event_to_json
from sophon_hosting.features.tasks.results import task_to_json
from sophon_hosting.features.traces.results import trace_summary_to_json, trace_to_json
from sophon_hosting.telemetry.otlp_json import trace_to_otlp_json

if TYPE_CHECKING:
    from sophon.mcp.supervisor import McpSupervisor

P = ParamSpec("P")
T = TypeVar("T")

MCP_WAIT_SECONDS = 15.0
"""Time of MCP servers to connect."""

EVENTS_PER_READ = 1000


def _needs_host(what: str) -> Callable[..., NoReturn]:
    """Return a method that raises RunningHostRequired."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise RunningHostRequired(what)

    return refuse


def _in_store(
    work: Callable[Concatenate["StoreHostClient", Store, P], Awaitable[T]],
) -> Callable[Concatenate["StoreHostClient", P], T]:
    """Return a method that opens the store, awaits `work` on it, and closes it."""

    @wraps(work)
    def run(client: "StoreHostClient", /, *args: P.args, **keywords: P.kwargs) -> T:
        return client.run(lambda store: work(client, store, *args, **keywords))

    return run


class StoreHostClient:
    """What the commands ask of a host, on the configured store; every call opens and closes the store.

    `notice` is written before the first use of the store.
    """

    def __init__(self, options: GlobalOptions, settings: Settings, notice: str = "") -> None:
        self._options, self._settings, self._notice = options, settings, notice
        self._capacity = settings.queue.capacity
        # Whoever can open the store is an operator.
        self._policy = OperatorPolicy(
            find_operators(settings.hub) | {LOCAL_USER}, several_users=True, four_eyes=settings.approval.four_eyes
        )

    @_in_store
    async def get_task(self, store: Store, task_id: str) -> JsonRow:
        """Return one task."""
        return task_to_json(await store.runs.get(task_id))

    @_in_store
    async def list_task_events(self, store: Store, task_id: str) -> Sequence[JsonRow]:
        """Return the stored events of a task and its traces, in order."""
        run = await store.runs.get(task_id)
        found: list[LoggedEvent] = []
        after = 0
        while rows := await store.events.list_after(run.session_id, after, EVENTS_PER_READ):
            found += [row for row in rows if row.task_id == run.id]
            after = rows[-1].seq
        found = merge_traces(found, await store.events.list_traces(run.session_id, run.id))
        return [logged_event_to_json(run.session_id, row) for row in found]

    @_in_store
    async def list_traces(self, store: Store, *, session_id: str | None = None, limit: int = 50) -> Sequence[JsonRow]:
        """Return the traces of turns without their parts, newest first."""
        found = await store.traces.list(session_id=session_id, limit=limit)
        return [trace_summary_to_json(each) for each in found]

    @_in_store
    async def find_trace(self, store: Store, task_id: str) -> JsonRow | None:
        """Return the trace of a task; None if it has none."""
        found = await store.traces.find(task_id)
        return None if found is None else trace_to_json(found)

    @_in_store
    async def export_trace(self, store: Store, task_id: str) -> JsonRow:
        """Return the trace of a task as JSON of OTLP. Raises NotFound."""
        found = await store.traces.find(task_id)
        if found is None:
            raise NotFound("trace", task_id)
        providers = {each.id: each.type.lower() for each in self._settings.providers}
        return trace_to_otlp_json(found, service_name=self._settings.telemetry.service_name, providers=providers)

    def replay_turn(self, task_id: str, *, chain: str | None = None, model: str | None = None) -> JsonRow:
        """Replay a turn of the user of this machine, or of an operator of the settings, in this process."""
        from sophon_hosting.cli.remote.stored_replay import replay_stored_turn  # lazy: it needs a whole chain

        self._write_notice()
        return replay_stored_turn(self._options, self._settings, task_id, chain=chain, model=model)

    def list_schedules(self) -> Sequence[JsonRow]:
        """Return the schedules of all users, oldest first."""
        return self.run(lambda store: list_stored_schedules(store, self._settings))

    def get_schedule(self, schedule_id: str) -> JsonRow:
        """Return one schedule with its last firings. Raises NotFound."""
        return self.run(lambda store: get_stored_schedule(store, self._settings, schedule_id))

    def add_schedule(self, body: Mapping[str, Any]) -> JsonRow:
        """Make a schedule in a session that exists, or of the local user in a new one. Raises InputError, NotFound."""
        return self.run(lambda store: add_stored_schedule(store, self._settings, body))

    def change_schedule(self, schedule_id: str, body: Mapping[str, Any]) -> JsonRow:
        """Change, pause or resume a schedule and return it. Raises InputError, NotFound."""
        return self.run(lambda store: change_stored_schedule(store, self._settings, schedule_id, body))

    def remove_schedule(self, schedule_id: str) -> None:
        """Delete a schedule. Raises NotFound."""
        self.run(lambda store: remove_stored_schedule(store, self._settings, schedule_id))

    @_in_store
    async def queue_status(self, store: Store) -> JsonRow:
        """Count the unfinished runs by status; no run is in flight without a host."""
        runs = await store.runs.list_unfinished()
        return {
            "waiting": sum(run.status == "queued" for run in runs),
            "in_flight": 0,
            "interrupted": sum(run.status == "running" for run in runs),
            "held_lanes": sum(run.status == "suspended" for run in runs),
            "capacity": self._capacity,
        }

    # Dead letters, channels, cool-downs of providers, connections and deliveries are those of a running host.
    list_dead_letters = _needs_host("the list of dead letters")
    retry_dead_letter = _needs_host("`queue retry`")
    attach_channel = _needs_host("`channels attach`")
    list_providers = _needs_host("`providers list`")
    reset_provider = _needs_host("`providers reset`")
    list_webhooks = _needs_host("`webhooks list`")
    test_webhook = _needs_host("`webhooks test`")
    restart_mcp_server = _needs_host("`mcp restart`")

    def control_queue(self, action: str) -> NoReturn:
        """Raise RunningHostRequired: only a running host has a queue to control."""
        raise RunningHostRequired(f"`queue {action}`")

    def list_mcp_servers(self) -> Sequence[JsonRow]:
        """Start the MCP servers, return them with state, last error and tools, and end them."""

        async def read(servers: "McpSupervisor") -> Sequence[JsonRow]:
            return [mcp_server_to_json(each) for each in servers.list_status()]

        return self._run_mcp_servers(read) if self._settings.mcp.servers else []

    def accept_mcp_tools(self, server: str, digests: Mapping[str, str]) -> JsonRow:
        """Start the MCP servers, accept definitions of tools, by name and digest, and return the server."""

        async def accept(servers: "McpSupervisor") -> JsonRow:
            return mcp_server_to_json(await servers.accept(server, digests))

        if not self._settings.mcp.servers:
            raise NotFound("MCP server", server)
        return self._run_mcp_servers(accept)

    def _run_mcp_servers(self, operation: Callable[["McpSupervisor"], Awaitable[T]]) -> T:
        async def run(store: Store) -> T:
            from sophon.mcp.supervisor import McpSupervisor  # lazy: no other command needs MCP

            servers = McpSupervisor(
                self._settings,
                toolbox=Toolbox(ToolRegistry([])),
                states=store.channel_state,
                clock=SystemClock(),
                environment=os.environ,
                folder=self._options.settings_folder,
            )
            servers.start()
            try:
                await servers.wait_settled(MCP_WAIT_SECONDS)
                return await operation(servers)
            finally:
                await servers.stop()

        return self.run(run)

    def run(self, operation: Callable[[Store], Awaitable[T]]) -> T:
        """Open the store, await an operation on it, and close it; the notice is written before the first use."""
        self._write_notice()
        return run_with_store(self._options, operation)

    def _write_notice(self) -> None:
        if self._notice:
            write_notice(self._notice)
            self._notice = ""
