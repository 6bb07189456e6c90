"""SQL preferences."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, delete, select

from sophon.preferences import NO_PREFERENCES, PREFERENCE_NAMES, Preferences
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import preferences


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
    data = connection.execute(select(preferences.c.data).where(preferences.c.person == person)).scalar_one_or_none()
    # A later version may have stored more.
    return Preferences(**{name: data[name] for name in PREFERENCE_NAMES if name in data}) if data else NO_PREFERENCES


def _put(connection: Connection, person: str, values: Mapping[str, Any]) -> None:
    if not values["data"]:
        connection.execute(delete(preferences).where(preferences.c.person == person))
        return
    statement = build_insert(connection.dialect.name, preferences).values(person=person, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["person"], set_=dict(values)))
