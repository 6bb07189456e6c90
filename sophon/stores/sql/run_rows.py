"""SQL statements of the run store's hot path, and the mapping between a `Run` and its row."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from sophon.stores.run_contracts import Run, RunError
from sophon.stores.sql.prepared import Prepared
from sophon.stores.sql.schema import inbound, runs

BY_ID = runs.c.id == bindparam("which")
# In the order of Run's fields.
FACTS = (
    *(runs.c.id, runs.c.session_id, runs.c.owner, runs.c.channel, runs.c.origin, runs.c.text, runs.c.options),
    *(runs.c.status, runs.c.number, runs.c.created_at, runs.c.started_at, runs.c.finished_at, runs.c.starts),
    *(runs.c.checkpoint, runs.c.waiting_for, runs.c.response, runs.c.error, runs.c.cancel_requested),
)
FIND = Prepared(lambda _: select(*FACTS).where(BY_ID))
PLACE = Prepared(lambda _: select(runs.c.number).where(BY_ID))
STANDING = Prepared(lambda _: select(runs.c.session_id, runs.c.finished_at).where(BY_ID))
KNOWN = Prepared(
    lambda _: (
        select(*FACTS)
        .join(inbound, inbound.c.run == runs.c.number)
        .where(
            inbound.c.channel == bindparam("channel"),
            inbound.c.account == bindparam("account"),
            inbound.c.external_id == bindparam("external_id"),
        )
    )
)
# All other columns are NULL.
ADD = Prepared(
    lambda _: insert(runs),
    [
        *("id", "session_id", "owner", "channel", "origin", "text", "options", "status", "created_at", "starts"),
        *("waiting_for", "cancel_requested"),
    ],
)
REMEMBER = Prepared(lambda _: insert(inbound))
BEGIN = Prepared(
    lambda _: (
        update(runs)
        .where(BY_ID)
        .values({name: bindparam(f"new_{name}") for name in ("status", "starts", "started_at", "waiting_for")})
    )
)
CHECKPOINT = Prepared(
    lambda _: update(runs).where(BY_ID, runs.c.status == bindparam("running")).values(checkpoint=bindparam("state"))
)
SUSPEND = update(runs).where(BY_ID)
CANCEL = update(runs).where(BY_ID, runs.c.finished_at.is_(None)).values(cancel_requested=True)
END = Prepared(
    lambda _: (
        update(runs)
        .where(BY_ID)
        .values(
            {
                name: bindparam(f"new_{name}")
                for name in ("status", "finished_at", "checkpoint", "waiting_for", "response", "error")
            }
        )
    )
)


def new_row(run: Run, at: datetime) -> dict[str, Any]:
    """Return the row of a run that is accepted at `at`."""
    return {
        "id": run.id,
        "session_id": run.session_id,
        "owner": run.owner,
        "channel": run.channel,
        "origin": run.origin,
        "text": run.text,
        "options": run.options,
        "status": "queued",
        "created_at": at,
        "starts": 0,
        "waiting_for": (),
        "cancel_requested": False,
    }


def error_row(error: RunError | None) -> dict[str, str] | None:
    """Return the JSON of the column `error`."""
    return {"code": error.code, "message": error.message, "id": error.id} if error is not None else None


def run_of(values: Sequence[Any]) -> Run:
    """Return the run from the columns of `FACTS`."""
    *facts, waiting_for, response, error, cancel_requested = values
    failure = RunError(**error) if error is not None else None
    fields: list[Any] = [*facts, tuple(waiting_for), response, failure, bool(cancel_requested)]
    return Run(*fields)
