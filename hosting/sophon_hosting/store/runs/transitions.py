"""State transitions of runs: pure functions of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from sophon.errors import ChangedMeanwhile, InputError, NotFound, SessionTaken
from sophon.stores.run_fence import StaleRun
from sophon.stores.sessions.contract import SessionSummary
from sophon_hosting.store.runs.contract import BeginResult, OutdatedRun, Precondition, Run, RunStatus

SUGGESTION_POOL_SIZE = 1000
"""How many of the newest ids are searched for ones similar to an unknown id."""


def check_start(run_id: str, start: int, starts: int) -> None:
    """Raise StaleRun if a run with so many starts has started again since that start."""
    if start != starts:
        raise StaleRun(run_id, start)


def accept_run(run: Run, order: int, at: datetime) -> Run:
    """Return the run as the store keeps it: the given facts, status queued."""
    return Run(
        run.id,
        run.session_id,
        run.owner,
        run.channel,
        dict(run.origin),
        run.text,
        dict(run.options),
        order=order,
        created_at=at,
    )


def check_precondition(precondition: Precondition, stored_version: int | None) -> None:
    """Raise ChangedMeanwhile unless what a run is accepted for is stored in the version that was read."""
    if stored_version != precondition.version:
        raise ChangedMeanwhile(precondition.kind, precondition.id)


def check_session_owner(run: Run, session: SessionSummary | None, session_owner: str | None) -> None:
    """Raise SessionTaken if the run's session exists and belongs to another than the required owner."""
    if session_owner is not None and session is not None and session.owner != session_owner:
        raise SessionTaken(run.session_id)


def begin_run(
    run: Run, at: datetime, *, waits_for: str = "", seen_starts: int | None = None, seen_text: str | None = None
) -> BeginResult:
    """Return the run after `begin`, and the verdict for its worker. Raises StaleRun, OutdatedRun; see `RunStore.begin`.

    `waits_for` is the id of the first unfinished run before it in its session, "" if there is none.
    """
    if run.is_finished:
        return BeginResult(run, "over")
    if run.cancel_requested:
        if seen_starts is not None and seen_starts != run.starts:
            raise OutdatedRun(run.id)  # what is stored with it would begin the turn a second time
        return BeginResult(run, "cancelled")
    if waits_for:
        return BeginResult(run, "waits", waits_for=waits_for)
    if seen_starts is not None:
        check_start(run.id, seen_starts, run.starts)
    if seen_text is not None and seen_text != run.text:
        raise OutdatedRun(run.id)
    return BeginResult(
        replace(run, status="running", starts=run.starts + 1, started_at=run.started_at or at, waiting_for=()),
        "begun",
    )


def is_replaceable(run: Run) -> bool:
    """Return whether the text of a run may be replaced: nothing has read it yet."""
    return run.status == "queued" and not run.starts and not run.cancel_requested


def suspend_run(run: Run, state: Mapping[str, Any], waiting_for: Sequence[str]) -> Run:
    """Return the run after `suspend`; unchanged if it was not running."""
    if run.status != "running":
        return run
    return replace(run, status="suspended", checkpoint=state, waiting_for=tuple(waiting_for))


def count_starts_after_outcome(status: RunStatus, starts: int, start: int | None) -> int:
    """Return `Run.starts` after an outcome that was written in the name of a start, or by another with None.

    Whoever ends a running run in place of its worker counts as a start, so that what the worker still writes is
    refused.
    """
    return starts + 1 if status == "running" and start is None else starts


def run_not_found(run_id: str, newest: Iterable[str]) -> NotFound:
    """Return the NotFound error for an unknown run, with similar ids among the newest."""
    return NotFound("task", run_id, get_close_matches(run_id, list(newest), n=3))


def run_id_taken(run_id: str) -> InputError:
    """Return the InputError for a run id that exists already."""
    return InputError(f"run {run_id!r} exists already; choose another id")
