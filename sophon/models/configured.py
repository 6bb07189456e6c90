"""From settings and environment to providers that can be asked."""

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sophon.clock import Clock
from sophon.errors import SettingsError
from sophon.import_paths import import_object
from sophon.models.catalog import ANY_PROVIDER, model_info
from sophon.models.detection import Detected, detected, offline
from sophon.models.keys import KeyRing
from sophon.models.known import COMPATIBLE, OFFLINE, OLLAMA, OPENAI, PYTHON, known, known_types, litellm_type
from sophon.models.litellm_model import LiteLLMModel
from sophon.models.model import Model, ModelInfo
from sophon.models.offline import OfflineModel
from sophon.models.ollama import local_models, ollama_address, preferred
from sophon.models.openai_model import OPENAI_URL, OpenAIModel
from sophon.models.provider import Provider
from sophon.models.renamed import renamed
from sophon.plugins import MODELS, loaded, offered
from sophon.settings import ProviderSettings, Settings
from sophon.settings.report import near

OPENAI_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Variables that OpenAI's own client and litellm know; BaseUrl in the settings wins."""


def configured_providers(
    settings: Settings, *, environment: Mapping[str, str], clock: Clock, folder: Path, detect: bool = True
) -> list[Provider]:
    """The active providers of the settings; without any in the settings, those that are found.

    `folder` is where a person's own modules are looked for; `detect=False` finds nothing but the offline model. Raises
    SettingsError with a line for everything that is wrong with any of them: a missing key, an unknown type, no model, a
    factory that cannot be used.
    """
    site = _Site(environment, clock, folder)
    found: list[tuple[str, ProviderSettings]] = [
        (f"Providers[{place}]", each) for place, each in enumerate(settings.providers) if each.active
    ]
    if not settings.providers:
        found = [(each.provider, each.settings) for each in _found(environment, detect=detect)]
    providers: list[Provider] = []
    problems: list[str] = []
    for path, each in found:
        try:
            providers.append(_Making(each, path, site).provider())
        except SettingsError as error:
            problems += error.problems
    if problems:
        raise SettingsError(problems)
    return providers


def found_providers(settings: Settings, environment: Mapping[str, str]) -> list[Detected]:
    """What would be used, and why, in the order in which it is asked; nothing is made and no key is read."""
    if not settings.providers:
        return detected(environment)
    named = [(f"Providers[{place}] in the settings", each) for place, each in enumerate(settings.providers)]
    active = [Detected(each, reason) for reason, each in named if each.active]
    return sorted(active, key=lambda each: each.settings.priority)


@dataclass(frozen=True, slots=True)
class _Site:
    """Where providers are made."""

    environment: Mapping[str, str]
    clock: Clock
    folder: Path


class _Making:
    """Makes one provider; every problem is a line that begins with `path`."""

    def __init__(self, settings: ProviderSettings, path: str, site: _Site) -> None:
        self._settings = settings
        self._path = path
        self._site = site

    def provider(self) -> Provider:
        settings = self._settings
        self._check_type()
        keys = self._keys()
        models = self._models()
        ring = KeyRing(keys, self._site.clock) if keys else None
        return Provider(settings.id, models, settings.priority, settings.active, ring)

    def _models(self) -> list[Model]:
        kind = self._settings.type
        if kind == OFFLINE:
            return [self._with_facts(OfflineModel())]
        if kind == PYTHON:
            path = self._settings.factory or ""
            return [self._from_factory(import_object(path, setting=f"{self._path}.Factory", folder=self._site.folder))]
        if kind in offered(MODELS):
            return [self._from_factory(loaded(offered(MODELS)[kind]))]
        if kind in (OPENAI, COMPATIBLE):
            return self._openai(self._openai_url())
        if kind == OLLAMA:
            address = self._settings.base_url or ollama_address(self._site.environment)
            return self._openai(f"{address.rstrip('/').removesuffix('/v1')}/v1")
        return self._litellm()

    def _openai(self, url: str) -> list[Model]:
        seconds = self._settings.timeout.total_seconds()
        infos = [self._info(self._settings.type, name) for name in self._names()]
        return [OpenAIModel(info, base_url=url, timeout_seconds=seconds) for info in infos]

    def _litellm(self) -> list[Model]:
        prefix = litellm_type(self._settings.type)
        return [
            LiteLLMModel(
                self._info(prefix, name),
                litellm_name=name if prefix == ANY_PROVIDER or name.startswith(f"{prefix}/") else f"{prefix}/{name}",
                base_url=self._settings.base_url,
                timeout_seconds=self._settings.timeout.total_seconds(),
            )
            for name in self._names()
        ]

    def _info(self, kind: str, name: str) -> ModelInfo:
        return model_info(kind, name, provider_id=self._settings.id, overrides=self._facts())

    def _names(self) -> tuple[str, ...]:
        """The models named, else the one to begin with."""
        settings = self._settings
        if settings.models:
            return settings.models
        if settings.type == OLLAMA:
            models = local_models(settings.base_url or ollama_address(self._site.environment))
            if models:
                return (preferred(models).name,)
        usual = known(settings.type)
        if usual is None or settings.base_url is not None:
            raise self._problem("Models", "name at least one model")
        return (usual.model,)

    def _openai_url(self) -> str:
        if self._settings.base_url is not None:
            return self._settings.base_url
        if self._settings.type == COMPATIBLE:
            raise self._problem("BaseUrl", f"a provider of type {COMPATIBLE!r} needs one, as https://host/v1")
        named = (self._site.environment.get(name, "").strip() for name in OPENAI_URLS)
        return next(filter(None, named), OPENAI_URL)

    def _check_type(self) -> None:
        kind, types = self._settings.type, known_types() | offered(MODELS).keys()
        if types and kind not in types:
            hint = near(kind, types) or f"; for a server that speaks OpenAI's API write {COMPATIBLE!r}"
            raise self._problem("Type", f"{kind!r} is no type of provider{hint}")

    def _keys(self) -> list[str]:
        secrets, environment = self._settings.keys, self._site.environment
        if not secrets:
            return self._usual_key()
        found = [key for key in (secret.resolve(environment) for secret in secrets) if key is not None]
        if not found:
            missing = [_missing(secret.origin) for secret in secrets]
            raise self._problem("Keys", "; ".join(missing))
        for key in found:
            if not key.isascii() or not key.isprintable() or " " in key:
                # Caught here, because a client that finds it would show the key in its error.
                raise self._problem("Keys", "a key has characters that no key has (white space or letters not ASCII)")
        return found

    def _usual_key(self) -> list[str]:
        """The key from the variable where it is by custom; servers at another address often need none."""
        usual = known(self._settings.type)
        if usual is None:
            return []
        values = (self._site.environment.get(name, "").strip() for name in usual.variables)
        key = next(filter(None, values), None)
        if key is None and self._settings.base_url is None:
            raise self._problem("Keys", f"none is named, and the environment variable {usual.variables[0]} is not set")
        return [key] if key else []

    def _from_factory(self, factory: object) -> Model:
        path, settings = self._settings.factory or self._settings.type, self._settings
        if len(settings.models) > 1:
            raise self._problem("Models", "a factory gives one model; make a provider of each")
        if not callable(factory):
            raise self._problem("Factory", f"{path!r} is no function")
        try:
            model = _called(factory, settings)
        except Exception as error:
            raise self._problem("Factory", f"{path!r} failed: {type(error).__name__}: {error}") from error
        if isinstance(model, Coroutine):
            model.close()
            raise self._problem("Factory", f"{path!r} is async; it gives the model at once")
        if not callable(getattr(model, "complete", None)) or not hasattr(model, "info"):
            raise self._problem(
                "Factory", f"{path!r} gave a {type(model).__name__}, which is no model: it needs `info` and `complete`"
            )
        return self._with_facts(cast(Model, model))

    def _with_facts(self, model: Model) -> Model:
        named = {"name": self._settings.models[0]} if self._settings.models else {}
        return renamed(model, provider=self._settings.id, **named, **self._facts())

    def _facts(self) -> dict[str, Any]:
        """What the operator says of the models, as fields of ModelInfo."""
        settings = self._settings
        prices = (settings.prices.input, settings.prices.output) if settings.prices else None
        said = {
            "context_window": settings.context_window,
            "function_calling": settings.function_calling,
            "prices": prices,
        }
        return {name: value for name, value in said.items() if value is not None}

    def _problem(self, key: str, sentence: str) -> SettingsError:
        return SettingsError([f"{self._path}.{key}: {sentence}"])


def _found(environment: Mapping[str, str], *, detect: bool) -> list[Detected]:
    return detected(environment) if detect else [offline("nothing else was looked for")]


def _called(factory: Callable[..., object], settings: ProviderSettings) -> object:
    """What the factory gives; it is handed the provider's settings if it takes them."""
    return factory(settings) if any(_needed(factory)) else factory()


def _needed(factory: Callable[..., object]) -> Iterator[inspect.Parameter]:
    """The parameters that have to be given by position."""
    for parameter in inspect.signature(factory).parameters.values():
        by_position = parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if by_position and parameter.default is inspect.Parameter.empty:
            yield parameter


def _missing(origin: str) -> str:
    if origin.startswith("environment variable"):
        return f"the {origin} is not set"
    return f"the {origin} is missing, empty or cannot be read"
