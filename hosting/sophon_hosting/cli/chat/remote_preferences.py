"""Preferences of a person behind the API of a host."""

from sophon.preferences import PREFERENCE_NAMES, Preferences
from sophon_hosting.cli.remote.host_selection import connect_client
from sophon_hosting.features.preferences.operations import get_preferences, replace_preferences
from sophon_hosting.features.preferences.results import UserPreferences


class RemotePreferences:
    """Preferences of the user of a token. The constructor raises SophonError if no host answers, or refuses it."""

    def __init__(self, url: str, token: str | None) -> None:
        self._client = connect_client(url, token)

    def get_preferences(self) -> Preferences:
        """Return them."""
        return _parse(self._client.call(get_preferences))

    def set_preferences(self, preferences: Preferences) -> Preferences:
        """Replace them and return what the host has stored."""
        return _parse(self._client.call(replace_preferences, **preferences.to_json()))


def _parse(answer: UserPreferences) -> Preferences:
    # A newer host may know more of them.
    return Preferences.from_json(
        {name: value for name, value in answer["preferences"].items() if name in PREFERENCE_NAMES}
    )
