"""No host runs: its store tells how things are, and takes what the next start shall do."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from sophon.approvals import Decision
from sophon.errors import SophonError
from sophon.settings import Settings
from sophon.stores.contracts import Store
from sophon.stores.run_contracts import RunStatus
from sophon_hosting.access import LOCAL_USER
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.screen import note
from sophon_hosting.cli.start import with_store
from sophon_hosting.views import approval_view, logged_view, task_view

READ_AT_ONCE = 1000
LATER = "it takes effect when the host starts, or within seconds if one works on this store elsewhere"
Row = Mapping[str, Any]


class NeedsHost(SophonError):
    """Something that only a running host can do."""

    code = "no_host"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a running host; start it with `sophon serve`, or name one with --url")


class OverStore:
    """See `Reach`."""

    def __init__(self, options: GlobalOptions, settings: Settings) -> None:
        self._options, self._capacity = options, settings.queue.capacity

    def tasks(self, *, status: str | None = None, session: str | None = None, limit: int = 50) -> Sequence[Row]:
        """The newest first."""

        async def read(store: Store) -> list[Row]:
            found = await store.runs.list(session_id=session, status=cast(RunStatus | None, status), limit=limit)
            return [task_view(run) for run in found]

        return with_store(self._options, read)

    def task(self, task_id: str) -> Row:
        """One task."""

        async def read(store: Store) -> Row:
            return task_view(await store.runs.get(task_id))

        return with_store(self._options, read)

    def events(self, task_id: str) -> Sequence[Row]:
        """What happened in it."""

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
        """Keep the wish."""

        async def write(store: Store) -> str:
            run = await store.runs.request_cancel(task_id)
            return run.status if run.over else "cancelling"

        status = with_store(self._options, write)
        if status == "cancelling":
            note(LATER)
        return status

    def approvals(self, *, open_only: bool = True) -> Sequence[Row]:
        """The oldest first."""

        async def read(store: Store) -> list[Row]:
            return [approval_view(record) for record in await store.approvals.list(open_only=open_only)]

        return with_store(self._options, read)

    def decide(self, approval_id: str, decision: Decision) -> Row:
        """Keep the decision, if there is none yet."""
        signed = Decision(decision.verdict, decision.reason, decision.arguments, decided_by=LOCAL_USER)

        async def write(store: Store) -> Row:
            record = await store.approvals.get(approval_id)
            if record.decision is None and signed.verdict == "edit" and not record.request.editable:
                raise NeedsEditable(record.request.tool)
            kept = await store.approvals.decide(approval_id, signed, datetime.now(UTC))
            if kept.decision != signed or record.decision is not None:
                raise DecidedBefore(kept.decision)
            return approval_view(kept)

        row = with_store(self._options, write)
        note(LATER)
        return row

    def queue(self) -> Row:
        """What waits; nothing is worked on."""

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
        """Only the queue of a running host has them."""
        raise NeedsHost("the list of dead letters")

    def retry(self, task_id: str) -> None:
        """Only the queue of a running host has them."""
        raise NeedsHost("`queue retry`")

    def switch(self, what: str) -> Row:
        """There is nothing to be switched."""
        raise NeedsHost(f"`queue {what}`")


class NeedsEditable(SophonError):
    """An edit of what cannot be edited."""

    code = "not_editable"

    def __init__(self, tool: str) -> None:
        super().__init__(f"the arguments of {tool} cannot be edited")


class DecidedBefore(SophonError):
    """Somebody was faster."""

    code = "already_decided"

    def __init__(self, decision: Decision | None) -> None:
        by, verdict = (decision.decided_by, decision.verdict) if decision else ("", "")
        super().__init__(f"{by or 'somebody'} decided this before: {verdict}")
