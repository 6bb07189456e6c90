"""Provider discovery without settings: API keys in the environment, a local Ollama, else the offline model."""

from collections.abc import Mapping

from sophon._python.lazy_dataclass import dataclass
from sophon.extras import install_command
from sophon.models.catalog import is_litellm_installed
from sophon.models.providers.defaults import PROVIDER_DEFAULTS, ProviderDefaults
from sophon.models.providers.ollama_discovery import (
    HOST_VARIABLE,
    list_ollama_models,
    read_context_length,
    resolve_ollama_url,
    select_preferred_model,
)
from sophon.models.providers.provider_types import OFFLINE, OLLAMA, needs_litellm
from sophon.settings import ProviderSettings, Secret


@dataclass(frozen=True, slots=True)
class DiscoveredProvider:
    """Settings of a provider, and why it was selected; shown by `sophon doctor`."""

    settings: ProviderSettings
    reason: str

    @property
    def provider_id(self) -> str:
        """The provider's id."""
        return self.settings.id


def discover_providers(environment: Mapping[str, str]) -> list[DiscoveredProvider]:
    """Discover the providers: one for every key that is set, in the order of `PROVIDER_DEFAULTS`; else Ollama; else
    offline.

    Ollama counts if it has a model. Takes at most 0.3 s and contacts no host other than the one in OLLAMA_HOST.
    """
    keyed = [
        DiscoveredProvider(_settings_with_key(*each), f"{each[1]} is set") for each in _providers_with_key(environment)
    ]
    if keyed:
        return [_with_priority(priority, each) for priority, each in enumerate(keyed, start=1)]
    address = resolve_ollama_url(environment)
    unserved = _find_unserved_key(environment)
    reason = "no key is set" if unserved is None else f"{unserved} needs litellm ({install_command('litellm')})"
    return [
        _discover_ollama(address, environment)
        or _offline_provider(f"{reason}, and no Ollama with a model answers at {address}")
    ]


def _offline_provider(reason: str) -> DiscoveredProvider:
    """Return the offline provider with the reason why it was selected."""
    return DiscoveredProvider(ProviderSettings(id=OFFLINE, type=OFFLINE), reason)


def _providers_with_key(environment: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """Return (id, variable, type, default model) of every provider whose key is set, and that can be called."""
    found: list[tuple[str, str, str, str]] = []
    for each in PROVIDER_DEFAULTS:
        variable = _find_key_variable(each, environment)
        if variable is not None and _is_served(each):
            found.append((each.id, variable, each.type, each.default_model))
    return found


def _find_key_variable(defaults: ProviderDefaults, environment: Mapping[str, str]) -> str | None:
    return next((name for name in defaults.key_variables if environment.get(name, "").strip()), None)


def _is_served(defaults: ProviderDefaults) -> bool:
    return not needs_litellm(defaults.type) or is_litellm_installed()


def _find_unserved_key(environment: Mapping[str, str]) -> str | None:
    """Return the first variable with the key of a provider that only litellm serves, where there is no litellm."""
    variables = (_find_key_variable(each, environment) for each in PROVIDER_DEFAULTS if not _is_served(each))
    return next(filter(None, variables), None)


def _settings_with_key(provider_id: str, variable: str, provider_type: str, model: str) -> ProviderSettings:
    return ProviderSettings(id=provider_id, type=provider_type, models=(model,), keys=(Secret(variable, "$env"),))


def _with_priority(priority: int, provider: DiscoveredProvider) -> DiscoveredProvider:
    return DiscoveredProvider(provider.settings.model_copy(update={"priority": priority}), provider.reason)


def _discover_ollama(address: str, environment: Mapping[str, str]) -> DiscoveredProvider | None:
    models = list_ollama_models(address)
    if not models:
        return None
    model = select_preferred_model(models)
    settings = ProviderSettings(
        id=OLLAMA,
        type=OLLAMA,
        models=(model.name,),
        base_url=address,
        function_calling=model.function_calling,
        # The configured prompt limit of the server, if set: Ollama truncates longer prompts silently.
        context_window=read_context_length(environment) or model.context_window,
    )
    source = f" (from {HOST_VARIABLE})" if environment.get(HOST_VARIABLE) else ""
    return DiscoveredProvider(settings, f"Ollama answers at {address}{source} and has {model.name}")
