"""The contract of forgetting a person: what the store keeps under a person's name outside of sessions and memory."""

from collections.abc import Mapping
from typing import Protocol

from sophon.stores.usage.contract import Period


class PersonStore(Protocol):
    """Deletes the rows of a person that are not deleted with their sessions and their memory."""

    async def forget(self, person: str, current: Period) -> Mapping[str, int]:
        """Delete a person's attachments, preferences, grants, goals, schedules, API tokens, trajectories, traces,
        feedback, sub-agents, snapshots, accounts and unsent messages.

        Return the number of rows by kind; kinds without any are left out. The accounts of the `current` day and month
        stay: otherwise whoever is forgotten could spend their limits again. All or nothing; a second call finds
        nothing. Raises StoreError.
        """
        ...
