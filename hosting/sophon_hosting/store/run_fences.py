"""Check of fences in the transaction of the writes that carry them."""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from sophon.stores.run_fence import RunFence, StaleRun, check_start
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon_hosting.store.tables import runs

_SELECT_STARTS = PreparedStatement(lambda _: select(runs.c.starts).where(runs.c.id == bindparam("which")))


def check_fences(connection: Connection, fences: Iterable[RunFence]) -> None:
    """Raise StaleRun for an old fence, and for that of a run that was deleted with its session."""
    for fence in fences:
        found = _SELECT_STARTS.fetch_row(connection, {"which": fence.run_id})
        if found is None:
            # A new session may have the id of the deleted one: nothing of the old one belongs in it.
            raise StaleRun(fence.run_id, fence.start)
        check_start(fence.run_id, fence.start, found[0])
