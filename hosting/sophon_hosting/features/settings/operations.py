"""Operations on the settings of the running host: list, change, reset; for operators only."""

from typing import Annotated, Final

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError, NotFound, SettingsError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.settings.feature import LIVE_SETTINGS
from sophon_hosting.features.settings.live_settings import LiveSettings
from sophon_hosting.features.settings.results import SettingList, SettingView, setting_to_json
from sophon_hosting.operations.request import NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("settings")

NO_FILES: Final = "this host was started by a program, without settings files; nothing can be saved"


class NamedSetting(Request):
    """A setting by its path below `Sophon`."""

    path: str


class SettingChange(Request):
    """The path below `Sophon`, and the value as in the settings file."""

    path: Annotated[str, ValueRules(min_length=1, max_length=200)]
    value: str | int | float | bool | None


@table.operation("GET /api/settings", needs="Operator")
async def list_settings(caller: Caller, request: NoFields) -> SettingList:
    """List all settings with value, source and meaning; secrets are references, or `***`.

    A `source` of null is the default, `the chain NAME` a constant of that chain.
    """
    return {"items": [setting_to_json(each) for each in await _live_settings(caller).list()]}


@table.operation(
    "PATCH /api/settings",
    needs="Operator",
    ok=True,
    errors=(NotFound, SettingsError),
    example={"path": "AgentExecution.MaxToolIterations", "value": 20},
)
async def change_setting(caller: Caller, request: SettingChange) -> SettingView:
    """Change a setting while the host runs, and save it; recorded. One that cannot change then is not found."""
    return setting_to_json(await _live_settings(caller).change(request.path, request.value, by=caller.user.id))


@table.operation("DELETE /api/settings/{path}", needs="Operator", ok=True, errors=(NotFound, SettingsError))
async def reset_setting(caller: Caller, request: NamedSetting) -> SettingView:
    """Remove what was saved for a setting; recorded."""
    return setting_to_json(await _live_settings(caller).reset(request.path, by=caller.user.id))


def _live_settings(caller: Caller) -> LiveSettings:
    live = caller.host.feature_services.find(LIVE_SETTINGS)
    if live is None:
        raise InputError(NO_FILES)
    return live
