"""Host client for when no host runs: reads its store, and writes decisions and cancellations for its next start."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from sophon.approvals import Decision
from sophon.errors import SophonError
from sophon.settings import Settings
from sophon.stores.contracts import Store
from sophon.stores.run_contracts import RunStatus
from sophon_hosting.access import LOCAL_USER
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.remote.over_http import Row
from sophon_hosting.cli.screen import note
from sophon_hosting.cli.start import with_store
from sophon_hosting.views import approval_view, logged_view, task_view

READ_AT_ONCE = 1000
LATER = "it takes effect when the host starts, or within seconds if a host elsewhere uses this store"


class NeedsHost(SophonError):
    """The operation needs a running host."""

    code = "no_host"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a running host; start it with `sophon serve`, or give its URL with --url")


class OverStore:
    """Implements `Reach` on the configured store; every call opens and closes the store."""

    def __init__(self, options: GlobalOptions, settings: Settings) -> None:
        self._options, self._capacity = options, settings.queue.capacity

    def tasks(self, *, status: str | None = None, session: str | None = None, limit: int = 50) -> Sequence[Row]:
        """Return tasks, newest first."""

        async def read(store: Store) -> list[Row]:
            found = await store.runs.list(session_id=session, status=cast(RunStatus | None, status), limit=limit)
            return [task_view(run) for run in found]

        return with_store(self._options, read)

    def task(self, task_id: str) -> Row:
        """Return one task."""

        async def read(store: Store) -> Row:
            return task_view(await store.runs.get(task_id))

        return with_store(self._options, read)

    def events(self, task_id: str) -> Sequence[Row]:
        """Return the durable events of a task, in order."""

        async def read(store: Store) -> list[Row]:
            run = await store.runs.get(task_id)
            found: list[Row] = []
            after = 0
            while rows := await store.events.after(run.session_id, after, READ_AT_ONCE):
                found += [logged_view(run.session_id, row) for row in rows if row.task_id == run.id]
                after = rows[-1].seq
            return found

        return with_store(self._options, read)

    def cancel(self, task_id: str) -> str:
        """Store a request to cancel the task; return `cancelling`, or its status if it has ended."""

        async def write(store: Store) -> str:
            run = await store.runs.request_cancel(task_id)
            return run.status if run.over else "cancelling"

        status = with_store(self._options, write)
        if status == "cancelling":
            note(LATER)
        return status

    def approvals(self, *, open_only: bool = True) -> Sequence[Row]:
        """Return approvals, oldest first."""

        async def read(store: Store) -> list[Row]:
            return [approval_view(record) for record in await store.approvals.list(open_only=open_only)]

        return with_store(self._options, read)

    def decide(self, approval_id: str, decision: Decision) -> Row:
        """Store the decision of the local user. Raises NeedsEditable, DecidedBefore."""
        local_decision = Decision(decision.verdict, decision.reason, decision.arguments, decided_by=LOCAL_USER)

        async def write(store: Store) -> Row:
            record = await store.approvals.get(approval_id)
            if record.decision is None and local_decision.verdict == "edit" and not record.request.editable:
                raise NeedsEditable(record.request.tool)
            stored = await store.approvals.decide(approval_id, local_decision, datetime.now(UTC))
            if stored.decision != local_decision or record.decision is not None:
                raise DecidedBefore(stored.decision)
            return approval_view(stored)

        row = with_store(self._options, write)
        note(LATER)
        return row

    def queue(self) -> Row:
        """Count the unfinished runs by status; no run is in flight without a host."""

        async def read(store: Store) -> Row:
            runs = await store.runs.unfinished()
            return {
                "waiting": sum(run.status == "queued" for run in runs),
                "in_flight": 0,
                "interrupted": sum(run.status == "running" for run in runs),
                "held_lanes": sum(run.status == "suspended" for run in runs),
                "capacity": self._capacity,
            }

        return with_store(self._options, read)

    def dead(self) -> Sequence[Row]:
        """Raise NeedsHost: only the queue of a running host has dead letters."""
        raise NeedsHost("the list of dead letters")

    def retry(self, task_id: str) -> None:
        """Raise NeedsHost: only the queue of a running host has dead letters."""
        raise NeedsHost("`queue retry`")

    def switch(self, what: str) -> Row:
        """Raise NeedsHost: only a running host has a queue to control."""
        raise NeedsHost(f"`queue {what}`")


class NeedsEditable(SophonError):
    """The arguments of the approval cannot be edited."""

    code = "not_editable"

    def __init__(self, tool: str) -> None:
        super().__init__(f"the arguments of {tool} cannot be edited")


class DecidedBefore(SophonError):
    """The approval has a decision already."""

    code = "already_decided"

    def __init__(self, decision: Decision | None) -> None:
        by, verdict = (decision.decided_by, decision.verdict) if decision else ("", "")
        super().__init__(f"{by or 'somebody'} has already decided this: {verdict}")
