"""SQL ledger of sub-agents."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, Row, select, update

from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.repository import Repository, matching
from sophon.stores.sql.schema import sub_agents
from sophon.stores.sub_agents.sub_agent_run import FINAL_STATES, SubAgentRun
from sophon.stores.unit_of_work import WriteKind

_COLUMNS = [column.name for column in sub_agents.c if column is not sub_agents.c.number]


class SubAgentStore(Repository):
    """Repository of the sub-agents of turns. Rows are deleted with their session."""

    async def put(self, rows: Sequence[SubAgentRun]) -> None:
        """Store sub-agents; of a known one state, end and detail change, and nothing else."""
        if rows:
            await self._database.add(WriteKind.SUB_AGENT, partial(put_sub_agents, rows=tuple(rows)))

    async def find(self, sub_agent_id: str) -> SubAgentRun | None:
        """Return a sub-agent by its run id."""
        query = select(sub_agents).where(sub_agents.c.id == sub_agent_id)
        row = await self._database.read(lambda connection: connection.execute(query).one_or_none())
        return None if row is None else _to_run(row)

    async def list_for_task(self, task_id: str) -> Sequence[SubAgentRun]:
        """Return the sub-agents of a turn, oldest first."""
        query = select(sub_agents).where(sub_agents.c.task_id == task_id).order_by(sub_agents.c.number)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_to_run(row) for row in rows]

    async def list_unfinished(self, principal: str | None = None) -> Sequence[SubAgentRun]:
        """Return those without a final state, of one person or all, oldest first."""
        query = select(sub_agents).where(sub_agents.c.state.not_in(FINAL_STATES)).order_by(sub_agents.c.number)
        query = query.where(*matching({sub_agents.c.principal: principal}))
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return [_to_run(row) for row in rows]

    async def request_cancel(self, sub_agent_id: str) -> bool:
        """Note that a sub-agent is to be cancelled; return False for one that has ended or is unknown."""
        change = (
            update(sub_agents)
            .where(sub_agents.c.id == sub_agent_id, sub_agents.c.state.not_in(FINAL_STATES))
            .values(cancel_requested=True)
        )
        return await self._database.write(lambda connection: connection.execute(change).rowcount) > 0

    async def expire(self, before: datetime) -> int:
        """Delete sub-agents that began before a time; return how many. Uses a transaction per batch."""
        old = select(sub_agents.c.number).where(sub_agents.c.created_at < before).order_by(sub_agents.c.number)
        return await delete_in_batches(self._database, sub_agents.c.number, old)


def put_sub_agents(connection: Connection, rows: Sequence[SubAgentRun]) -> None:
    """Insert sub-agents or change them, in the caller's transaction."""
    for row in rows:
        put = build_insert(connection.dialect.name, sub_agents).values({name: getattr(row, name) for name in _COLUMNS})
        changing = {name: put.excluded[name] for name in ("state", "finished_at", "detail")}
        connection.execute(put.on_conflict_do_update(index_elements=[sub_agents.c.id], set_=changing))


def _to_run(row: Row[tuple[object, ...]]) -> SubAgentRun:
    return SubAgentRun(**{name: getattr(row, name) for name in _COLUMNS})
