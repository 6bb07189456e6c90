"""The contract of the preferences of people: one record per person."""

from typing import Protocol

from sophon.preferences import Preferences


class PreferenceStore(Protocol):
    """Repository of preferences by principal."""

    async def get(self, person: str) -> Preferences:
        """Return the preferences of a person; empty ones if they have said nothing."""
        ...

    async def put(self, person: str, preferences: Preferences) -> None:
        """Store the preferences of a person in place of those of before; empty ones delete the record."""
        ...
