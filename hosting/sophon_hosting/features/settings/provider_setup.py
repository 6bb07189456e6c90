"""Set-up of a provider on a running host: try a key, choose a model, save both, and use them from the next turn on."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sophon._python.lazy_dataclass import dataclass
from sophon.composition.part_factories import configure_providers
from sophon.composition.setting_references import find_unknown_budgets, find_unknown_evaluator
from sophon.errors import InputError, SettingsError
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.models.providers.defaults import PROVIDER_DEFAULTS
from sophon.models.providers.provider_types import OLLAMA, OPENAI_COMPATIBLE
from sophon.services import Services
from sophon.settings import ProviderSettings, Secret, Settings
from sophon.settings.loader import LoadedSettings
from sophon_hosting.features.settings.change_audit import record_change
from sophon_hosting.features.settings.live_settings import LiveSettings
from sophon_hosting.store.contract import host_store

if TYPE_CHECKING:
    from sophon.models.providers.model_listing import ModelListing

log = logging.getLogger("sophon")

KEYLESS_TYPES = frozenset({OLLAMA, OPENAI_COMPATIBLE})
"""Types whose servers may need no key."""

PROVIDERS = "Providers"


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """What a person gives: a provider type, a key, and for a server of one's own its address."""

    type: str
    key: str | None
    base_url: str | None = None

    def __repr__(self) -> str:
        return f"ProviderChoice({self.type!r}, base_url={self.base_url!r})"


class ProviderSetup:
    """Trial and saving of one provider, which is then the only one.

    `environment` is that of the process; `on_replaced` is called with the new providers after each change.
    """

    def __init__(
        self,
        live: LiveSettings,
        services: Services,
        environment: Mapping[str, str],
        on_replaced: Callable[[Sequence[Provider]], None] = lambda providers: None,
    ) -> None:
        self._live, self._services, self._environment = live, services, environment
        self._on_replaced = on_replaced

    def find_obstacle(self) -> str:
        """Return why providers cannot be set up here, "" if they can: the settings name them elsewhere."""
        return find_obstacle(self._live.loaded)

    def describe(self) -> dict[str, Any]:
        """Return what is used now, what was saved, and the types to choose from; never a key."""
        saved = find_saved_provider(self._live.loaded)
        return {
            "obstacle": self.find_obstacle(),
            "saved": None if saved is None else provider_to_json(saved),
            "in_use": [
                {"provider": each.id, "model": each.models[0].info.name} for each in self._services.gateway.providers
            ],
            "is_offline": all(each.id == "offline" for each in self._services.gateway.providers),
            "types": list_types(),
            "restarts": self._live.loaded.saved_source,
        }

    async def list_models(self, choice: ProviderChoice) -> "ModelListing":
        """Try the key by asking the provider for its models. Raises TrialFailed, InputError, SettingsError."""
        from sophon.models.providers.http.transport import HttpTransport  # lazy: most hosts never set one up
        from sophon.models.providers.provider_trial import try_listing

        choice = self._with_stored_key(choice)
        return await try_listing(to_settings(choice, ()), choice.key, self._environment, HttpTransport())

    async def save(self, choice: ProviderChoice, model: str, *, by: str) -> ModelInfo:
        """Let the model answer once, then save the provider, record that, and use it from the next turn on.

        Raises TrialFailed, InputError, SettingsError, StoreError; then nothing has changed.
        """
        async with self._live.lock:
            choice = self._with_stored_key(choice)
            self._check_obstacle()
            await self._try_model(choice, model)
            saved = self._live.loaded.saved
            wanted = to_settings(choice, (model,))
            reference = None if choice.key is None else saved.write_key(wanted.id, choice.key)
            entry = to_entry(wanted, reference)
            values = {**saved.read(), PROVIDERS: [entry]}
            try:
                info = await self._use(
                    values, by, "saved", {**provider_to_json(wanted), "has_key": choice.key is not None}
                )
            except BaseException:
                saved.delete_other_keys(saved.read())
                raise
        log.info("the provider %s with the model %s was set up by %s", wanted.id, model, by)
        return info

    async def remove(self, *, by: str) -> None:
        """Remove the saved provider with its key; the host uses again what it finds. Raises InputError, StoreError."""
        async with self._live.lock:
            found = find_saved_provider(self._live.loaded)
            if found is None:
                raise InputError("no provider was set up here")
            values = {key: each for key, each in self._live.loaded.saved.read().items() if key != PROVIDERS}
            await self._use(values, by, "removed", provider_to_json(found))
        log.info("the provider %s was removed by %s", found.id, by)

    async def _use(self, values: Mapping[str, Any], by: str, outcome: str, details: dict[str, Any]) -> ModelInfo:
        services, loaded = self._services, self._live.loaded.with_saved(values)
        providers = await asyncio.to_thread(self._create, loaded.settings)
        problems = find_unknown_budgets(loaded.settings, [each.id for each in providers])
        problems += find_unknown_evaluator(loaded.settings, providers)
        if problems:
            raise SettingsError(problems)
        name = str(details["id"])
        change = partial(record_change, host_store(services), services.clock, by=by, what="provider", name=name)
        await change(outcome=outcome, details=details)
        try:
            loaded.saved.write(values)
        except SettingsError as error:
            await change(outcome="failed", details={"problem": str(error)})
            raise
        loaded.saved.delete_other_keys(values)
        services.gateway.replace_providers(providers)
        self._live.apply(loaded)
        self._on_replaced(providers)
        return providers[0].models[0].info

    def _create(self, settings: Settings) -> list[Provider]:
        from sophon.models.providers.provider_factory import create_providers  # lazy, as above

        services = self._services
        providers = create_providers(
            settings, environment=self._environment, clock=services.clock, folder=services.folder
        )
        configure_providers(providers, settings)
        return providers

    async def _try_model(self, choice: ProviderChoice, model: str) -> None:
        """Let the model of a provider that is not saved answer, with the key as it was given."""
        from sophon.models.providers.provider_trial import try_answer  # lazy, as above

        plain = to_settings(choice, (model,), [Secret(choice.key)] if choice.key else ())
        trial = self._live.loaded.settings.model_copy(update={"providers": (plain,)})
        (provider,) = await asyncio.to_thread(self._create, trial)
        try:
            await try_answer(provider.models[0], choice.key, provider.id)
        finally:
            close = getattr(provider.models[0], "aclose", None)
            if close is not None:
                await close()

    def _check_obstacle(self) -> None:
        obstacle = self.find_obstacle()
        if obstacle:
            raise InputError(obstacle)

    def _with_stored_key(self, choice: ProviderChoice) -> ProviderChoice:
        """Fill in the saved key if none is given, for the same provider at the same address only.

        Otherwise a saved key could be sent to an address of somebody's choice.
        """
        if choice.key is not None:
            if not choice.key.isascii() or not choice.key.isprintable() or " " in choice.key:
                raise InputError("the key contains characters that no key has: a blank, a line break, another alphabet")
            Secret.parse(choice.key)  # from now on redaction knows it
            return choice
        saved = find_saved_provider(self._live.loaded)
        if saved is not None and (saved.id, saved.base_url) == (choice.type, choice.base_url) and saved.keys:
            return replace(choice, key=saved.keys[0].resolve(self._environment))
        if choice.type not in KEYLESS_TYPES:
            raise InputError("a key is required")
        return choice


def find_obstacle(loaded: LoadedSettings) -> str:
    """Return why a provider cannot be saved: others are listed elsewhere; "" if it can."""
    source = loaded.find_source((PROVIDERS,))
    if source in (None, loaded.saved_source) or not loaded.settings.providers:
        return ""
    return f"the providers are listed in {source}; change them there"


def find_saved_provider(loaded: LoadedSettings) -> ProviderSettings | None:
    """Return the provider that the host saved and uses; None if there is none."""
    if loaded.find_source((PROVIDERS,)) != loaded.saved_source or not loaded.settings.providers:
        return None
    return loaded.settings.providers[0]


def list_types() -> list[dict[str, Any]]:
    """Return the provider types that can be set up, with their customary model and whether a key is needed."""
    known = [
        {"type": each.id, "model": each.default_model, "needs_key": True, "needs_url": False}
        for each in PROVIDER_DEFAULTS
    ]
    own = [
        {"type": OPENAI_COMPATIBLE, "model": "", "needs_key": False, "needs_url": True},
        {"type": OLLAMA, "model": "", "needs_key": False, "needs_url": False},
    ]
    return known + own


def to_settings(choice: ProviderChoice, models: Sequence[str], keys: Sequence[Secret] = ()) -> ProviderSettings:
    """Return the settings of a choice. Raises InputError for a type or an address that cannot be."""
    types = {each["type"]: each for each in list_types()}
    if choice.type not in types:
        raise InputError(f"{choice.type!r} is none of {', '.join(types)}")
    if types[choice.type]["needs_url"] and choice.base_url is None:
        raise InputError("this type needs the address of the server, such as http://localhost:8000/v1")
    defaults = next((each for each in PROVIDER_DEFAULTS if each.id == choice.type), None)
    if choice.base_url is not None and "?" in choice.base_url:
        raise InputError("the address must have no query: it may hold a key, and would be shown")
    try:
        return ProviderSettings(
            id=choice.type,
            type=defaults.type if defaults is not None else choice.type,
            models=tuple(models),
            keys=tuple(keys),
            base_url=choice.base_url,
        )
    except ValueError:
        raise InputError("the address must be an http or https URL without user name and password") from None


def to_entry(settings: ProviderSettings, key: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the provider as an entry of the settings file; the key is a reference."""
    entry: dict[str, Any] = {"Id": settings.id, "Type": settings.type, "Models": list(settings.models)}
    if key is not None:
        entry["Keys"] = [dict(key)]
    if settings.base_url is not None:
        entry["BaseUrl"] = str(settings.base_url)
    return entry


def provider_to_json(settings: ProviderSettings) -> dict[str, Any]:
    """Return a provider without its key."""
    return {
        "id": settings.id,
        "type": settings.id,
        "model": settings.models[0] if settings.models else None,
        "base_url": settings.base_url,
        "has_key": bool(settings.keys),
    }
