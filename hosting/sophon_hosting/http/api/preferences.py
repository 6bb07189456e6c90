"""`/api/preferences`: how the user wants to be answered; everybody has their own."""

from aiohttp import web

from sophon.preferences import Preferences
from sophon_hosting.features.preferences.results import preferences_to_json
from sophon_hosting.http.json_io import RequestBody, get_authorized_host, get_reader, json_response, parse_body


class PreferencesBody(RequestBody):
    """Body of the preferences; what is left out is taken back."""

    language: str = ""
    style: str = ""
    time_zone: str = ""
    model: str = ""
    verbosity: str = ""
    notes: str = ""


routes = web.RouteTableDef()


@routes.get("/api/preferences")
async def get_preferences(request: web.Request) -> web.Response:
    """Return the preferences of the user."""
    authorized_host = get_reader(request)
    found = await authorized_host.store.preferences.get(authorized_host.user.id)
    return json_response(preferences_to_json(found))


@routes.put("/api/preferences")
async def put_preferences(request: web.Request) -> web.Response:
    """Replace the preferences of the user. Raises InputError, NotFound for an unknown model."""
    body, authorized_host = await parse_body(request, PreferencesBody), get_authorized_host(request)
    preferences = Preferences.from_json(body.to_dict())
    authorized_host.rights.require("Chat")
    if preferences.model:
        authorized_host.rights.require("ChooseModel")
        authorized_host.host.services.gateway.find(preferences.model)
    await authorized_host.store.preferences.put(authorized_host.user.id, preferences)
    return json_response({"ok": True, **preferences_to_json(preferences)})
