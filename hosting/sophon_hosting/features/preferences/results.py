"""Results of preferences."""

from typing import Literal, NotRequired, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.preferences import Preferences


class PreferencesView(TypedDict):
    """How a person wants to be answered; what they have not said is missing."""

    language: NotRequired[str]
    style: NotRequired[str]
    time_zone: NotRequired[str]
    model: NotRequired[str]
    verbosity: NotRequired[Literal["brief", "normal", "detailed"]]
    notes: NotRequired[str]


class UserPreferences(TypedDict):
    """The preferences of the user."""

    preferences: PreferencesView


def preferences_to_json(preferences: Preferences) -> UserPreferences:
    """Return the preferences of the user as JSON."""
    return {"preferences": cast(PreferencesView, preferences.to_json())}
