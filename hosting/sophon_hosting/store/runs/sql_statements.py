"""SQL statements of the run store's hot path, and the mapping between a `Run` and its row."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    false,
    insert,
    literal,
    literal_column,
    null,
    select,
    text,
    union_all,
    update,
)

from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.texts.sql import TextReader
from sophon_hosting.store.runs.contract import UNFINISHED_STATUSES, Run, RunError, RunStatus
from sophon_hosting.store.tables import IS_SIGNALLED, IS_UNFINISHED, IS_UNSUCCESSFUL, inbound, runs

BY_ID = runs.c.id == bindparam("which")
# In the order of Run's fields.
COLUMNS = (
    *(runs.c.id, runs.c.session_id, runs.c.owner, runs.c.channel, runs.c.origin, runs.c.text, runs.c.options),
    *(runs.c.status, runs.c.number, runs.c.created_at, runs.c.started_at, runs.c.finished_at, runs.c.starts),
    *(runs.c.checkpoint, runs.c.waiting_for, runs.c.response, runs.c.error, runs.c.cancel_requested),
)
HEAD_COLUMNS = tuple(null().label("checkpoint") if column is runs.c.checkpoint else column for column in COLUMNS)
"""The columns of a run in a list that needs no checkpoint."""
SELECT_RUN = PreparedStatement(lambda _: select(*COLUMNS).where(BY_ID))
SELECT_NUMBER = PreparedStatement(lambda _: select(runs.c.number).where(BY_ID))
# Of what a run is when something is written about it: session, end, row number, whether it has a checkpoint, status,
# starts.
SELECT_STATE = PreparedStatement(
    lambda _: select(
        *(runs.c.session_id, runs.c.finished_at, runs.c.number, runs.c.checkpoint.is_not(None)),
        *(runs.c.status, runs.c.starts),
    ).where(BY_ID)
)
_EARLIER = runs.alias("earlier")
FIRST_EARLIER = (
    select(_EARLIER.c.id)
    .where(_EARLIER.c.session_id == runs.c.session_id, _EARLIER.c.number < runs.c.number)
    .where(text("earlier.finished_at IS NULL"))  # in the words of the index
    .order_by(_EARLIER.c.number)
    .limit(literal_column("1"))
    .offset(literal_column("0"))  # otherwise SQLAlchemy makes it a parameter for SQLite
    .correlate(runs)
    .scalar_subquery()
    .label("waits_for")
)
SELECT_TO_BEGIN = PreparedStatement(lambda _: select(*COLUMNS, FIRST_EARLIER).where(BY_ID))
"""The columns of a run, and the id of the first unfinished run before it in its session."""
SELECT_BY_INBOUND_KEY = PreparedStatement(
    lambda _: (
        select(*COLUMNS)
        .join(inbound, inbound.c.run == runs.c.number)
        .where(
            inbound.c.channel == bindparam("channel"),
            inbound.c.account == bindparam("account"),
            inbound.c.external_id == bindparam("external_id"),
        )
    )
)
# All other columns are NULL or have their defaults.
INSERT_RUN = PreparedStatement(
    lambda _: insert(runs),
    [
        *("id", "session_id", "owner", "channel", "origin", "text", "options", "status", "created_at", "starts"),
        *("waiting_for", "cancel_requested"),
    ],
)
INSERT_INBOUND_KEY = PreparedStatement(lambda _: insert(inbound))
UPDATE_BEGIN = PreparedStatement(
    lambda _: (
        update(runs)
        .where(BY_ID)
        .values({name: bindparam(f"new_{name}") for name in ("status", "starts", "started_at", "waiting_for")})
        .values(signalled=false())
    )
)
# The condition of `is_replaceable`.
UPDATE_TEXT = PreparedStatement(
    lambda _: (
        update(runs)
        .where(
            BY_ID,
            runs.c.status == bindparam("queued"),
            runs.c.starts == bindparam("none"),
            runs.c.cancel_requested.is_(False),
        )
        .values(text=bindparam("new_text"), origin=bindparam("new_origin"))
    )
)
UPDATE_CHECKPOINT = PreparedStatement(
    lambda _: update(runs).where(BY_ID, runs.c.status == bindparam("running")).values(checkpoint=bindparam("state"))
)
UPDATE_SUSPEND = update(runs).where(BY_ID)
UPDATE_CANCEL = update(runs).where(BY_ID, runs.c.finished_at.is_(None)).values(cancel_requested=True, signalled=True)
UPDATE_SIGNAL = update(runs).where(BY_ID, runs.c.finished_at.is_(None)).values(signalled=True)
_PENDING = (runs.c.number, runs.c.id, runs.c.session_id, runs.c.owner)
# Two branches, each with an index of its own.
SELECT_PENDING = union_all(
    select(*_PENDING, literal(0).label("is_signalled")).where(IS_UNFINISHED, runs.c.status == "queued"),
    select(*_PENDING, literal(1).label("is_signalled")).where(IS_SIGNALLED),
)
SELECT_RUNNING = (
    select(*_PENDING[1:], runs.c.signalled).where(IS_UNFINISHED, runs.c.status == "running").order_by(runs.c.number)
)
UPDATE_FINISH = PreparedStatement(
    lambda _: (
        update(runs)
        .where(BY_ID)
        .values(
            {
                name: bindparam(f"new_{name}")
                for name in ("status", "finished_at", "checkpoint", "waiting_for", "response", "error", "starts")
            }
        )
        .values(signalled=false())
    )
)


def has_status(status: RunStatus) -> ColumnElement[bool]:
    """Return the condition for the runs of a status, so that the database finds the index that has few of them.

    Runs that succeeded are in no such index: they are most of all.
    """
    found = runs.c.status == status
    if status in UNFINISHED_STATUSES:
        return and_(found, IS_UNFINISHED)
    return and_(found, IS_UNSUCCESSFUL) if status in ("failed", "cancelled") else found


def row_from_run(run: Run, at: datetime) -> dict[str, Any]:
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


def run_from_row(connection: Connection, values: Sequence[Any], *, whole: bool = True) -> Run:
    """Return the run from the columns of `COLUMNS` or `HEAD_COLUMNS`, with its large texts or, without `whole`, their
    beginnings.
    """
    *facts, checkpoint, waiting_for, response, error, cancel_requested = values
    texts = TextReader(connection, facts[1])
    failure = RunError(**error) if error is not None else None
    facts[6] = texts.decode(facts[6]) if whole else texts.decode_head(facts[6])
    read = [
        texts.decode(checkpoint),
        tuple(waiting_for),
        texts.decode(response) if whole else texts.decode_head(response),
    ]
    fields: list[Any] = [*facts, *read, failure, bool(cancel_requested)]
    return Run(*fields)
