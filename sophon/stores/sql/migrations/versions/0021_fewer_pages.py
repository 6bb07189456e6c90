"""Fewer pages per transaction: records, events and traces by one integer key, a journal without a second index, indexes
of runs that a finished turn leaves alone.

The rows of the four tables are copied, in the order of their keys.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)
_KEYS = 2**32
_IS_UNFINISHED = sa.text("finished_at IS NULL")
_IS_UNSUCCESSFUL = sa.text("status IN ('failed', 'cancelled')")


def upgrade() -> None:
    """Copy the tables, replace the indexes."""
    _replace("records", [_key(), *_record_columns()], {"key": f"session * {_KEYS} + seq"}, "session, seq")
    _replace("events", [_key(), *_event_columns()], {"key": f"log * {_KEYS} + seq"}, "log, seq")
    position = "row_number() OVER (PARTITION BY log ORDER BY number)"
    _replace("traces", [_key(), *_event_columns()], {"key": f"log * {_KEYS} + {position}"}, "log, number")
    turn = sa.Column("turn", sa.Text, primary_key=True)
    _replace("journal", [turn, *_call_columns()], {}, "turn, run_id, call_id")
    op.drop_index("runs_by_status", "runs")
    op.drop_index("runs_by_end", "runs")
    for name, condition in (("runs_unfinished", _IS_UNFINISHED), ("runs_unsuccessful", _IS_UNSUCCESSFUL)):
        op.create_index(name, "runs", ["status", "number"], sqlite_where=condition, postgresql_where=condition)


def downgrade() -> None:
    """Copy the tables back."""
    op.drop_index("runs_unsuccessful", "runs")
    op.drop_index("runs_unfinished", "runs")
    op.create_index("runs_by_end", "runs", ["finished_at"])
    op.create_index("runs_by_status", "runs", ["status", "number"])
    _replace("journal", [*_call_columns(), sa.Column("turn", sa.Text, nullable=False)], {}, "turn, run_id, call_id")
    op.create_index("journal_by_turn", "journal", ["turn"])
    newest = f"(SELECT max(key) FROM events WHERE key > number * {_KEYS} AND key < (number + 1) * {_KEYS})"  # noqa: S608 - constants
    last_seq = f"coalesce({newest} - number * {_KEYS}, 0)"
    op.execute(f"UPDATE event_logs SET last_seq = {last_seq} WHERE last_seq < {last_seq}")  # noqa: S608 - constants
    log, seq = f"key / {_KEYS}", f"key % {_KEYS}"
    number = sa.Column("number", _NUMBER, primary_key=True)
    _replace(
        "traces",
        [number, _reference("log", "event_logs.number", primary_key=False), *_event_columns()],
        {"number": "row_number() OVER (ORDER BY key)", "log": log},
        "key",
    )
    op.create_index("traces_by_log", "traces", ["log", "number"])
    columns = [_reference("log", "event_logs.number"), _seq(), *_event_columns()]
    _replace("events", columns, {"log": log, "seq": seq}, "key")
    op.create_index("events_by_time", "events", ["at"])
    columns = [_reference("session", "sessions.number"), _seq(), *_record_columns()]
    _replace("records", columns, {"session": log, "seq": seq}, "key")


def _key() -> sa.Column[Any]:
    return sa.Column("key", _NUMBER, primary_key=True, autoincrement=False)


def _seq() -> sa.Column[Any]:
    return sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False)


def _reference(name: str, column: str, *, primary_key: bool = True) -> sa.Column[Any]:
    key = sa.ForeignKey(column, ondelete="CASCADE")
    return sa.Column(name, _NUMBER, key, primary_key=primary_key, nullable=False)


def _record_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("said", sa.Boolean, nullable=False),
        sa.Column("at", _TIME, nullable=False),
    ]


def _event_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("task_id", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("at", _TIME, nullable=False),
    ]


def _call_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("call_id", sa.Text, primary_key=True),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("result", sa.Text),
    ]


def _replace(table: str, columns: Sequence[sa.Column[Any]], computed: dict[str, str], order: str) -> None:
    """Replace a table by one of other columns; `computed` has the expressions of those that it did not have."""
    op.create_table(f"new_{table}", *columns)
    names = [column.name for column in columns]
    values = ", ".join(computed.get(name, name) for name in names)
    op.execute(f"INSERT INTO new_{table} ({', '.join(names)}) SELECT {values} FROM {table} ORDER BY {order}")  # noqa: S608 - constants
    op.drop_table(table)
    op.rename_table(f"new_{table}", table)
