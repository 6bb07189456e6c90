"""SQL moving averages of routing: a row per model, tier and task type, updated in the transaction that observes."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, bindparam, delete, func, select

from sophon.stores.route_averages.route_average import MAX_KEYS, RouteAverage, RouteObservation
from sophon.stores.sql.prepared_statement import prepare_upsert
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import route_averages
from sophon.stores.unit_of_work import WriteKind

_KEY = ("model", "tier", "task_type")
_VALUES = ("calls", "failures", "scored", "cost_micros", "latency_ms", "quality", "updated_at", "rated", "said")

_COLUMNS = [route_averages.c[name] for name in (*_KEY, *_VALUES)]

_UPSERT = prepare_upsert(route_averages, _KEY, _VALUES)
_SELECT = select(*_COLUMNS).where(*(route_averages.c[name] == bindparam(name) for name in _KEY))


class RouteAverageStore(Repository):
    """Repository of the moving averages of routing."""

    async def add(self, observations: Sequence[RouteObservation]) -> None:
        """Apply observations in their order, all or none."""
        if observations:
            await self._database.add(WriteKind.ROUTE, partial(write_observations, observations=tuple(observations)))

    async def list_all(self) -> list[RouteAverage]:
        """Return all averages, ordered by model, tier and task type."""
        return await self._database.read(_list_all)

    async def reset(self) -> int:
        """Delete all averages; return how many there were."""
        return await self._database.write(lambda connection: connection.execute(delete(route_averages)).rowcount)


def write_observations(connection: Connection, observations: Sequence[RouteObservation]) -> None:
    """Apply observations, in the caller's transaction."""
    changed: dict[tuple[str, str, str], RouteAverage] = {}
    has_new = False
    for each in observations:
        key = (each.model, each.tier, each.task_type)
        if key not in changed:
            row = connection.execute(_SELECT, dict(zip(_KEY, key, strict=True))).one_or_none()
            has_new = has_new or row is None
            changed[key] = RouteAverage(*key) if row is None else RouteAverage(*row)
        changed[key] = changed[key].observe(each)
    for average in changed.values():
        _UPSERT.execute(connection, {name: getattr(average, name) for name in (*_KEY, *_VALUES)})
    if has_new:
        _delete_oldest(connection)


def _delete_oldest(connection: Connection) -> None:
    count = connection.execute(select(func.count()).select_from(route_averages)).scalar_one()
    if count <= MAX_KEYS:
        return
    oldest = select(*(route_averages.c[name] for name in _KEY)).order_by(route_averages.c.updated_at)
    for row in connection.execute(oldest.limit(count - MAX_KEYS)).all():
        connection.execute(
            delete(route_averages).where(*(route_averages.c[name] == getattr(row, name) for name in _KEY))
        )


def _list_all(connection: Connection) -> list[RouteAverage]:
    # Sorted in Python: collations differ between databases.
    found = [RouteAverage(*row) for row in connection.execute(select(*_COLUMNS))]
    return sorted(found, key=lambda average: average.key)
