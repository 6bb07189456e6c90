"""Accessor of the repository of schedules in a host's store; importing it loads no SQLAlchemy."""

from typing import TYPE_CHECKING

from sophon_hosting.store.contract import HostStore

if TYPE_CHECKING:
    from sophon_hosting.features.schedules.store import ScheduleStore


def stored_schedules(store: HostStore) -> "ScheduleStore":
    """Return the repository of the schedules of a host's store."""
    from sophon_hosting.features.schedules.store import ScheduleStore  # lazy: see above

    return store.part(ScheduleStore)
