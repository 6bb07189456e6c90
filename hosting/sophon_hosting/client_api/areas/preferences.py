"""How a user wants to be answered."""

from sophon.preferences import Preferences
from sophon_hosting.client_api.user_access import UserAccess


class UserPreferences:
    """The stored preferences of one user."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def get(self) -> Preferences:
        """Return how the user wants to be answered."""
        self._access.rights.require_scope("Read")
        return await self._access.host.services.store.preferences.get(self._access.user.id)

    async def set(self, preferences: Preferences) -> Preferences:
        """Replace how the user wants to be answered. Raises Forbidden, NotFound for a model that does not exist."""
        self._access.rights.require("Chat")
        if preferences.model:
            self._access.rights.require("ChooseModel")
            self._access.host.services.gateway.find(preferences.model)
        await self._access.host.services.store.preferences.put(self._access.user.id, preferences)
        return preferences
