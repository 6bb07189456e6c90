"""Operations on preferences, how a user wants to be answered: read and replace. Everybody has their own."""

from typing import Annotated

from sophon.errors import NotFound
from sophon.preferences import Preferences
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.preferences.results import UserPreferences, preferences_to_json
from sophon_hosting.operations.request import Doc, Needs, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("preferences")


class PreferencesOfUser(Request):
    """All preferences; what is left out is taken back."""

    language: Annotated[str, Doc("Name or code of a language, as `Deutsch` or `de`.")] = ""
    style: str = ""
    time_zone: Annotated[str, Doc("IANA name of a time zone.")] = ""
    model: Annotated[str, Needs("ChooseModel"), Doc("Model to ask if a message names none.")] = ""
    verbosity: Annotated[str, Doc("`brief`, `normal` or `detailed`.")] = ""
    notes: str = ""


@table.operation("GET /api/preferences", needs="Read")
async def get_preferences(caller: Caller, request: NoFields) -> UserPreferences:
    """Return how the user wants to be answered; what was not said is missing."""
    return preferences_to_json(await caller.store.preferences.get(caller.user.id))


@table.operation(
    "PUT /api/preferences",
    needs="Chat",
    ok=True,
    errors=(NotFound,),
    example={"language": "German", "verbosity": "brief"},
)
async def replace_preferences(caller: Caller, request: PreferencesOfUser) -> UserPreferences:
    """Replace the preferences of the user."""
    preferences = Preferences.from_json(request.to_dict())
    if preferences.model:
        caller.host.services.gateway.find(preferences.model)
    await caller.store.preferences.put(caller.user.id, preferences)
    return preferences_to_json(preferences)
