"""`/api/settings` and `/api/setup`: the settings of the running host, and the set-up of a provider; operators only."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon_hosting.features.settings.results import (
    SavedModel,
    SettingList,
    SetupView,
    offered_models_to_json,
    setting_to_json,
)
from sophon_hosting.http.json_io import RequestBody, get_operator, json_response, parse_body
from sophon_hosting.live_settings.live_settings import LiveSettings
from sophon_hosting.live_settings.provider_setup import ProviderChoice, ProviderSetup

_NO_FILES = "this host was started by a program, without settings files; nothing can be saved"

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


routes = web.RouteTableDef()


@routes.get("/api/settings")
async def list_settings(request: web.Request) -> web.Response:
    """List all settings with value, source and meaning; secrets are references, or `***`."""
    listed: SettingList = {"items": [setting_to_json(each) for each in await _live_settings(request)[0].list()]}
    return json_response(listed)


@routes.patch("/api/settings")
async def change_setting(request: web.Request) -> web.Response:
    """Change a setting while the host runs. Raises NotFound for one that cannot change then."""
    get_operator(request)  # others learn nothing from errors about a body
    body = await parse_body(request, SettingBody)
    settings, operator = _live_settings(request)
    return json_response({"ok": True, **setting_to_json(await settings.change(body.path, body.value, by=operator))})


@routes.delete("/api/settings/{path}")
async def reset_setting(request: web.Request) -> web.Response:
    """Remove what was saved for a setting."""
    settings, operator = _live_settings(request)
    row = await settings.reset(request.match_info["path"], by=operator)
    return json_response({"ok": True, **setting_to_json(row)})


@routes.get("/api/setup")
async def describe_setup(request: web.Request) -> web.Response:
    """Return what is used, and what can be set up."""
    setup = cast(SetupView, _setup(request)[0].describe())
    return json_response(setup)


@routes.post("/api/setup/models")
async def list_models(request: web.Request) -> web.Response:
    """Try a key: return the models that the provider lists, with their prices in USD per million tokens."""
    get_operator(request)
    body = await parse_body(request, ProviderBody)
    found = await _setup(request)[0].list_models(body.to_choice())
    return _private_response(offered_models_to_json(found))


@routes.post("/api/setup/provider")
async def save_provider(request: web.Request) -> web.Response:
    """Let a model answer, save the provider with its key, and use it from the next turn on."""
    get_operator(request)
    body = await parse_body(request, SavedProviderBody)
    setup, operator = _setup(request)
    info = await setup.save(body.to_choice(), body.model, by=operator)
    saved: SavedModel = {"provider": info.provider, "model": info.name}
    return _private_response({"ok": True, **saved})


@routes.delete("/api/setup/provider")
async def remove_provider(request: web.Request) -> web.Response:
    """Remove the saved provider with its key."""
    setup, operator = _setup(request)
    await setup.remove(by=operator)
    return json_response({"ok": True})


def _live_settings(request: web.Request) -> tuple[LiveSettings, str]:
    """Return the settings of the host, and the operator who asks. Raises InputError for a host without files."""
    operator = get_operator(request)
    if operator.host.live_settings is None:
        raise InputError(_NO_FILES)
    return operator.host.live_settings, operator.user.id


def _setup(request: web.Request) -> tuple[ProviderSetup, str]:
    """Return the set-up of a provider, and the operator who asks. Raises InputError for a host without files."""
    operator = get_operator(request)
    if operator.host.provider_setup is None:
        raise InputError(_NO_FILES)
    return operator.host.provider_setup, operator.user.id


def _private_response(data: Mapping[str, Any]) -> web.Response:
    return json_response(data, headers={"Cache-Control": "no-store"})
