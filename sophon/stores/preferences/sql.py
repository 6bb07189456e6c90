"""SQL preferences."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from sophon.preferences import NO_PREFERENCES, PREFERENCE_NAMES, Preferences
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import preferences

_SELECT = PreparedStatement(lambda _: select(preferences.c.data).where(preferences.c.person == bindparam("whose")))


class SqlPreferenceStore(Repository):
    """The preferences of an `SqlStore`; see `PreferenceStore`."""

    async def get(self, person: str) -> Preferences:
        """See `PreferenceStore.get`."""
        return await self._database.read(partial(_get, person=person))

    async def put(self, person: str, preferences: Preferences) -> None:
        """See `PreferenceStore.put`."""
        data, now = preferences.to_json(), self._clock.now()
        await self._database.write(partial(_put, person=person, values={"data": data, "updated_at": now}))


def _get(connection: Connection, person: str) -> Preferences:
    found = _SELECT.fetch_row(connection, {"whose": person})
    if found is None:
        return NO_PREFERENCES
    # A later version may have stored more.
    return Preferences(**{name: found[0][name] for name in PREFERENCE_NAMES if name in found[0]})


def _put(connection: Connection, person: str, values: Mapping[str, Any]) -> None:
    if not values["data"]:
        connection.execute(delete(preferences).where(preferences.c.person == person))
        return
    statement = build_insert(connection.dialect.name, preferences).values(person=person, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["person"], set_=dict(values)))
