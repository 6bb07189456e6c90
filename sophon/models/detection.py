"""Which providers there are when the settings name none: keys in the environment, a local Ollama, the offline model."""

from collections.abc import Mapping
from dataclasses import dataclass

from sophon.models.known import KNOWN, OFFLINE, OLLAMA
from sophon.models.ollama import CONTEXT_LENGTH, HOST, local_models, ollama_address, preferred
from sophon.settings import ProviderSettings, Secret


@dataclass(frozen=True, slots=True)
class Detected:
    """A provider, and why it is there: what `sophon doctor` shows."""

    settings: ProviderSettings
    reason: str

    @property
    def provider(self) -> str:
        """Its id."""
        return self.settings.id


def detected(environment: Mapping[str, str]) -> list[Detected]:
    """A provider for every key that is set, in the order of KNOWN; else a local Ollama that has a model; else the
    offline model. Takes at most 0.3 s, and no other machine is asked than the one in OLLAMA_HOST.
    """
    keyed = [Detected(_keyed(*each), f"{each[1]} is set") for each in _variables(environment)]
    if keyed:
        return [_at(place, each) for place, each in enumerate(keyed, start=1)]
    address = ollama_address(environment)
    return [_ollama(address, environment) or offline(f"no key is set, and no Ollama with a model answers at {address}")]


def offline(reason: str) -> Detected:
    """The offline model."""
    return Detected(ProviderSettings(id=OFFLINE, type=OFFLINE), reason)


def _variables(environment: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """(id, variable, type, model) of every provider whose key is set."""
    found: list[tuple[str, str, str, str]] = []
    for each in KNOWN:
        variable = next((name for name in each.variables if environment.get(name, "").strip()), None)
        if variable is not None:
            found.append((each.id, variable, each.type, each.model))
    return found


def _keyed(provider_id: str, variable: str, provider_type: str, model: str) -> ProviderSettings:
    return ProviderSettings(id=provider_id, type=provider_type, models=(model,), keys=(Secret(variable, "$env"),))


def _at(place: int, found: Detected) -> Detected:
    return Detected(found.settings.model_copy(update={"priority": place}), found.reason)


def _ollama(address: str, environment: Mapping[str, str]) -> Detected | None:
    models = local_models(address)
    if not models:
        return None
    model = preferred(models)
    length = environment.get(CONTEXT_LENGTH, "").strip()
    settings = ProviderSettings(
        id=OLLAMA,
        type=OLLAMA,
        models=(model.name,),
        base_url=address,
        function_calling=model.function_calling,
        # What the server cuts prompts to, if it was told; Ollama says nothing when it does.
        context_window=int(length) if length.isdecimal() and int(length) else model.context_window,
    )
    named = f", named by {HOST}" if environment.get(HOST) else ""
    return Detected(settings, f"Ollama answers at {address}{named} and has {model.name}")
