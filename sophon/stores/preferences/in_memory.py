"""In-memory preferences."""

from sophon.preferences import NO_PREFERENCES, Preferences


class InMemoryPreferenceStore:
    """The preferences of an `InMemoryStore`; see `PreferenceStore`."""

    def __init__(self) -> None:
        self._preferences: dict[str, Preferences] = {}

    async def get(self, person: str) -> Preferences:
        """See `PreferenceStore.get`."""
        return self._preferences.get(person, NO_PREFERENCES)

    async def put(self, person: str, preferences: Preferences) -> None:
        """See `PreferenceStore.put`."""
        if preferences.to_json():
            self._preferences[person] = preferences
        else:
            self._preferences.pop(person, None)
