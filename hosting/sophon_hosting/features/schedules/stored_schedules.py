"""Accessor of the repository of schedules in a host's store; importing it loads no SQLAlchemy."""

from typing import TYPE_CHECKING, cast

from sophon.stores.contract import Store
from sophon_hosting.store.contract import HostStore

if TYPE_CHECKING:
    from sophon_hosting.features.schedules.store import ScheduleStore


def stored_schedules(store: Store) -> "ScheduleStore":
    """Return the repository of the schedules of a host's store, as a host or one of its turns has it."""
    from sophon_hosting.features.schedules.store import ScheduleStore  # lazy: see above

    return cast(HostStore, store).part(ScheduleStore)
