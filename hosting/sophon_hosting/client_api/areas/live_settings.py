"""Settings of the running host and the set-up of its provider, for operators."""

from typing import TYPE_CHECKING, Any

from sophon.errors import InputError
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.live_settings.live_settings import LiveSettings
from sophon_hosting.live_settings.provider_setup import ProviderChoice, ProviderSetup

if TYPE_CHECKING:
    from sophon.settings.effective_rows import SettingRow

_NO_FILES = "this host was started by a program, without settings files; nothing can be saved"


class HostSettings:
    """The settings as this process uses them, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    async def list(self) -> "list[SettingRow]":
        """Return all settings. Operators only. Raises Forbidden, InputError."""
        return await self._live().list()

    async def change(self, path: str, value: object) -> "SettingRow":
        """Set one while the host runs. Operators only; recorded. Raises Forbidden, NotFound, InputError,
        SettingsError.
        """
        return await self._live().change(path, value, by=self._access.user.id)

    async def reset(self, path: str) -> "SettingRow":
        """Remove what was saved for one. Operators only; recorded. Raises as `change`."""
        return await self._live().reset(path, by=self._access.user.id)

    def _live(self) -> LiveSettings:
        self._access.require_operator()
        if self._access.host.live_settings is None:
            raise InputError(_NO_FILES)
        return self._access.host.live_settings


class SetupOperations:
    """The set-up of a provider, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    def describe(self) -> dict[str, Any]:
        """Return what is used and what can be chosen. Operators only. Raises Forbidden, InputError."""
        return self._setup().describe()

    async def list_models(self, choice: ProviderChoice) -> dict[str, Any]:
        """Try a key and return the models. Operators only. Raises Forbidden, InputError, TrialFailed."""
        found = await self._setup().list_models(choice)
        return {
            "is_from_provider": found.is_from_provider,
            "items": [
                {
                    "model": each.name,
                    "context_window": each.context_window,
                    "function_calling": each.function_calling,
                    "prices": None if each.prices is None else {"input": each.prices[0], "output": each.prices[1]},
                    "is_free": each.prices is None and not each.is_cost_unknown,
                }
                for each in found.models
            ],
        }

    async def save(self, choice: ProviderChoice, model: str) -> dict[str, Any]:
        """Try a model, save and use it. Operators only; recorded. Raises Forbidden, InputError, TrialFailed."""
        info = await self._setup().save(choice, model, by=self._access.user.id)
        return {"provider": info.provider, "model": info.name}

    async def remove(self) -> None:
        """Remove what was set up. Operators only; recorded. Raises Forbidden, InputError."""
        await self._setup().remove(by=self._access.user.id)

    def _setup(self) -> ProviderSetup:
        self._access.require_operator()
        if self._access.host.provider_setup is None:
            raise InputError(_NO_FILES)
        return self._access.host.provider_setup
