"""Host client for when no host runs: reads its store, and writes decisions and cancellations for its next start."""

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sophon.errors import NotFound
from sophon.settings import Settings
from sophon.stores.contract import Store
from sophon.stores.events.contract import LoggedEvent, merge_traces
from sophon_hosting.cli.bootstrap import run_with_store
from sophon_hosting.cli.console.output import write_notice
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.features.sessions.history_results import logged_event_to_json
from sophon_hosting.features.tasks.results import task_to_json
from sophon_hosting.features.traces.results import trace_summary_to_json, trace_to_json
from sophon_hosting.telemetry.otlp_json import trace_to_otlp_json

P = ParamSpec("P")
T = TypeVar("T")

EVENTS_PER_READ = 1000


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

    def run(self, operation: Callable[[Store], Awaitable[T]]) -> T:
        """Open the store, await an operation on it, and close it; the notice is written before the first use."""
        self._write_notice()
        return run_with_store(self._options, operation)

    def _write_notice(self) -> None:
        if self._notice:
            write_notice(self._notice)
            self._notice = ""
