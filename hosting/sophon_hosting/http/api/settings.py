"""`/api/settings` and `/api/setup`: the settings of the running host, and the set-up of a provider; operators only."""

from dataclasses import asdict
from typing import Annotated, Any

from aiohttp import web

from sophon.value_rules import ValueRules
from sophon_hosting.client_api.areas.live_settings import SetupOperations
from sophon_hosting.http.json_io import RequestBody, get_authorized_host, json_response, parse_body
from sophon_hosting.live_settings.provider_setup import ProviderChoice

SettingValue = str | int | float | bool | None


class SettingBody(RequestBody):
    """Body of a change: the path below `Sophon`, and its value as in the settings file."""

    path: Annotated[str, ValueRules(min_length=1, max_length=200)]
    value: SettingValue


class ProviderBody(RequestBody):
    """What a person gives: a type, a key that is never shown again, and for one's own server an address."""

    type: Annotated[str, ValueRules(min_length=1, max_length=100)]
    key: Annotated[str, ValueRules(min_length=1, max_length=4096)] | None = None
    base_url: Annotated[str, ValueRules(min_length=1, max_length=2000)] | None = None

    def to_choice(self) -> ProviderChoice:
        """Return what was given."""
        return ProviderChoice(self.type, None if self.key is None else self.key.strip() or None, self.base_url)


class SavedProviderBody(ProviderBody):
    """As `ProviderBody`, with the model."""

    model: Annotated[str, ValueRules(min_length=1, max_length=200)]


def settings_routes() -> list[web.RouteDef]:
    """Return the routes of this module; all require an operator."""
    return [
        web.get("/api/settings", list_settings),
        web.patch("/api/settings", change_setting),
        web.delete("/api/settings/{path}", reset_setting),
        web.get("/api/setup", describe_setup),
        web.post("/api/setup/models", list_models),
        web.post("/api/setup/provider", save_provider),
        web.delete("/api/setup/provider", remove_provider),
    ]


async def list_settings(request: web.Request) -> web.Response:
    """List all settings with value, source and meaning; secrets are references, or `***`."""
    return json_response({"items": [asdict(each) for each in await get_authorized_host(request).settings.list()]})


async def change_setting(request: web.Request) -> web.Response:
    """Change a setting while the host runs. Raises NotFound for one that cannot change then."""
    host = get_authorized_host(request)
    host.require_operator()
    body = await parse_body(request, SettingBody)
    return json_response({"ok": True, **asdict(await host.settings.change(body.path, body.value))})


async def reset_setting(request: web.Request) -> web.Response:
    """Remove what was saved for a setting."""
    row = await get_authorized_host(request).settings.reset(request.match_info["path"])
    return json_response({"ok": True, **asdict(row)})


async def describe_setup(request: web.Request) -> web.Response:
    """Return what is used, and what can be set up."""
    return json_response(get_authorized_host(request).setup.describe())


async def list_models(request: web.Request) -> web.Response:
    """Try a key: return the models that the provider lists, with their prices in USD per million tokens."""
    setup = _setup(request)
    body = await parse_body(request, ProviderBody)
    return _private_response(await setup.list_models(body.to_choice()))


async def save_provider(request: web.Request) -> web.Response:
    """Let a model answer, save the provider with its key, and use it from the next turn on."""
    setup = _setup(request)
    body = await parse_body(request, SavedProviderBody)
    return _private_response({"ok": True, **await setup.save(body.to_choice(), body.model)})


async def remove_provider(request: web.Request) -> web.Response:
    """Remove the saved provider with its key."""
    await _setup(request).remove()
    return json_response({"ok": True})


def _setup(request: web.Request) -> SetupOperations:
    """Return the set-up of an operator; others learn nothing from errors about a body."""
    host = get_authorized_host(request)
    host.require_operator()
    return host.setup


def _private_response(data: dict[str, Any]) -> web.Response:
    return json_response(data, headers={"Cache-Control": "no-store"})
