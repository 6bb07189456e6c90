"""Forgetting a person: what the store keeps under a name outside of sessions and memory."""

from collections.abc import Mapping, Sequence
from functools import partial

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, select

from sophon.clock import Clock
from sophon.stores.sql.database import Database
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import (
    attachments,
    budget_alerts,
    feedback,
    grants,
    preferences,
    snapshot_chains,
    snapshots,
    spending,
    sub_agents,
    trajectories,
    turn_traces,
    vectors,
)
from sophon.stores.sql.store_part import StorePart
from sophon.stores.usage.contract import Period, payer_account
from sophon.stores.vectors.contract import TRAJECTORIES


class PersonStore(Repository):
    """Deletes the rows of a person that are not deleted with their sessions and their memory.

    `parts` delete theirs in the same transaction. SQLite's write-ahead log is emptied afterwards.
    """

    def __init__(self, database: Database, clock: Clock, parts: Sequence[type[StorePart]] = ()) -> None:
        super().__init__(database, clock)
        self._parts = parts

    async def forget(self, person: str, current: Period) -> Mapping[str, int]:
        """Delete a person's attachments, preferences, grants, goals, schedules, API tokens, trajectories, traces,
        feedback, sub-agents, snapshots, accounts and unsent messages.

        Return the number of rows by kind; kinds without any are left out. The accounts of the `current` day and month
        stay: otherwise whoever is forgotten could spend their limits again. All or nothing; a second call finds
        nothing. Raises StoreError.
        """
        counts = await self._database.write(partial(_forget, self._parts, person=person, current=current))
        await self._database.clear_log()
        return counts


def _forget(
    parts: Sequence[type[StorePart]], connection: Connection, person: str, current: Period
) -> Mapping[str, int]:
    own = select(trajectories.c.run_id).where(trajectories.c.principal == person)
    connection.execute(delete(vectors).where(and_(vectors.c.namespace == TRAJECTORIES, vectors.c.key.in_(own))))
    connection.execute(delete(snapshot_chains).where(snapshot_chains.c.owner == person))
    counts = {kind: connection.execute(delete(table).where(own)).rowcount for kind, table, own in _rows(person)}
    for part in parts:
        counts |= part.forget_person(connection, person)
    account, kept = payer_account(person), (current.day, current.month)
    for table in (spending, budget_alerts):
        old = and_(table.c.provider == account, table.c.period.not_in(kept))
        counts["accounts"] = counts.get("accounts", 0) + connection.execute(delete(table).where(old)).rowcount
    return {kind: count for kind, count in counts.items() if count}


def _rows(person: str) -> list[tuple[str, Table, ColumnElement[bool]]]:
    return [
        ("attachments", attachments, attachments.c.owner == person),
        ("grants", grants, grants.c.principal == person),
        ("preferences", preferences, preferences.c.person == person),
        ("trajectories", trajectories, trajectories.c.principal == person),
        ("traces", turn_traces, turn_traces.c.principal == person),
        ("feedback", feedback, feedback.c.principal == person),
        ("sub_agents", sub_agents, sub_agents.c.principal == person),
        ("snapshots", snapshots, snapshots.c.owner == person),
    ]
