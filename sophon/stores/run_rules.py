"""How a run changes: the rules that every store shares."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from sophon.errors import InputError, NotFound
from sophon.stores.run_contracts import Begun, Run, RunOutcome

NEAR_AMONG = 1000
"""How many of the newest ids are compared with one that does not exist."""


def accepted(run: Run, order: int, at: datetime) -> Run:
    """The store's own run: the facts of the message, and nothing done yet."""
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


def begun(run: Run, at: datetime) -> Begun:
    """The run after `begin`, and what its worker has to do."""
    if run.over:
        return Begun(run, "over")
    if run.cancel_requested:
        return Begun(run, "cancelled")
    return Begun(
        replace(run, status="running", starts=run.starts + 1, started_at=run.started_at or at, waiting_for=()),
        "begun",
    )


def suspended(run: Run, state: Mapping[str, Any], waiting_for: Sequence[str]) -> Run:
    """The run after `suspend`; unchanged if it was not running."""
    if run.status != "running":
        return run
    return replace(run, status="suspended", checkpoint=state, waiting_for=tuple(waiting_for))


def finished(run: Run, outcome: RunOutcome, at: datetime) -> Run:
    """The run with its outcome."""
    return replace(
        run,
        status=outcome.status,
        finished_at=at,
        checkpoint=None,
        waiting_for=(),
        response=dict(outcome.response) if outcome.response is not None else None,
        error=outcome.error,
    )


def no_run(run_id: str, newest: Iterable[str]) -> NotFound:
    """The error for a run that does not exist, with the near ids among the newest."""
    return NotFound("task", run_id, get_close_matches(run_id, list(newest), n=3))


def taken(run_id: str) -> InputError:
    """The error for a second run with the same id."""
    return InputError(f"there is a run {run_id!r} already; choose another id")
