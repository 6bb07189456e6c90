"""`/preferences` in the chat of a terminal: shows or changes how the person wants to be answered."""

from typing import Protocol

from sophon.preferences import PREFERENCE_NAMES, Preferences, describe_preferences, parse_preference_command


class PreferenceAccess(Protocol):
    """Preferences of one person, in a store or behind the API of a host."""

    def get_preferences(self) -> Preferences:
        """Return them. Raises SophonError."""
        ...

    def set_preferences(self, preferences: Preferences) -> Preferences:
        """Replace them and return what is stored. Raises SophonError, for example for an unknown model."""
        ...


def run_preferences_command(access: PreferenceAccess, argument: str) -> list[str]:
    """Run the command with its argument (`language de`, or "") and return the lines to show. Raises SophonError."""
    changed = parse_preference_command(argument)
    found = access.get_preferences()
    if changed is not None:
        found = access.set_preferences(found.change(*changed))
    return [f"  {line}" for line in describe_preferences(found)] or [
        f"  no preferences; /preferences NAME VALUE sets one: {', '.join(PREFERENCE_NAMES)}"
    ]
