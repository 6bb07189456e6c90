"""Accessor of the repository of goals in a host's store; importing it loads no SQLAlchemy."""

from typing import TYPE_CHECKING

from sophon_hosting.store.contract import HostStore

if TYPE_CHECKING:
    from sophon_hosting.features.goals.store import GoalStore


def stored_goals(store: HostStore) -> "GoalStore":
    """Return the repository of the goals of a host's store."""
    from sophon_hosting.features.goals.store import GoalStore  # lazy: see above

    return store.part(GoalStore)
