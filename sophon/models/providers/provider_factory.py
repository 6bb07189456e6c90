"""Provider factory: create the active providers from settings and environment."""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.entry_points import find_entry_points, load_entry_point
from sophon.errors import SettingsError
from sophon.extras import install_command
from sophon.messages import Message
from sophon.models.capabilities import declare_capabilities
from sophon.models.catalog import LITELLM, OLLAMA_TYPES, is_litellm_installed, lookup_model_info
from sophon.models.gateway.api_keys import ApiKeyPool
from sophon.models.gateway.provider import Provider
from sophon.models.model import Model, ModelInfo, ModelRequest, ModelResponse
from sophon.models.offline import OfflineModel
from sophon.models.providers.defaults import find_provider_defaults
from sophon.models.providers.discovery import DiscoveredProvider, discover_providers
from sophon.models.providers.free_private_servers import is_private_server
from sophon.models.providers.http.transport import HttpTransport
from sophon.models.providers.litellm.model import LiteLLMModel
from sophon.models.providers.model_listing import create_http_model, find_base_url
from sophon.models.providers.ollama_discovery import (
    list_ollama_models,
    read_context_length,
    resolve_ollama_url,
    select_preferred_model,
)
from sophon.models.providers.provider_types import (
    HTTP_TYPES,
    OFFLINE,
    OLLAMA,
    OPENAI_COMPATIBLE,
    PYTHON,
    list_provider_types,
    needs_litellm,
    to_litellm_type,
)
from sophon.plugins.import_paths import import_user_object
from sophon.plugins.installed_plugins import MODELS_GROUP
from sophon.settings import ProviderSettings, Settings
from sophon.settings.validation_errors import suggest_nearest


def create_providers(
    settings: Settings, *, environment: Mapping[str, str], clock: Clock, folder: Path
) -> list[Provider]:
    """Create the active providers of the settings; if the settings list none, those that discovery finds.

    `folder` is where the user's own modules are searched. Raises SettingsError with one line per problem of any
    provider: a missing key, an unknown type, no model, or a factory that cannot be used.
    """
    context = _BuildContext(environment, clock, folder, HttpTransport())
    selected: list[tuple[str, ProviderSettings]] = [
        (f"Providers[{index}]", each) for index, each in enumerate(settings.providers) if each.active
    ]
    if not settings.providers:
        selected = [(each.provider_id, each.settings) for each in discover_providers(environment)]
    providers: list[Provider] = []
    problems: list[str] = []
    for path, each in selected:
        try:
            providers.append(_ProviderBuilder(each, path, context, is_discovered=not settings.providers).build())
        except SettingsError as error:
            problems += error.problems
    if problems:
        raise SettingsError(problems)
    return providers


def select_providers(settings: Settings, environment: Mapping[str, str]) -> list[DiscoveredProvider]:
    """Return the providers that would be used, and why, by priority; creates nothing and reads no key."""
    if not settings.providers:
        return discover_providers(environment)
    listed = [(f"Providers[{index}] in the settings", each) for index, each in enumerate(settings.providers)]
    active = [DiscoveredProvider(each, reason) for reason, each in listed if each.active]
    return sorted(active, key=lambda each: each.settings.priority)


@dataclass(frozen=True, slots=True)
class _BuildContext:
    """Environment variables, clock, module folder and connections that every provider is built with."""

    environment: Mapping[str, str]
    clock: Clock
    folder: Path
    transport: HttpTransport


def _first_output_seconds(settings: ProviderSettings) -> float | None:
    """Return the limit on silence before a reply; None for the gateway's, and for `ollama` the idle timeout."""
    if settings.first_output_timeout is None:
        return settings.idle_timeout.total_seconds() if settings.type == OLLAMA else None
    return settings.first_output_timeout.total_seconds()


class _ProviderBuilder:
    """Builds one provider; every problem is reported as a line that starts with `path`."""

    def __init__(self, settings: ProviderSettings, path: str, context: _BuildContext, *, is_discovered: bool) -> None:
        self._is_discovered = is_discovered
        self._settings = settings
        self._path = path
        self._context = context

    def build(self) -> Provider:
        settings = self._settings
        self._check_type()
        keys = self._keys()
        models = self._models()
        key_pool = ApiKeyPool(keys, self._context.clock) if keys else None
        return Provider(
            settings.id,
            models,
            settings.priority,
            settings.active,
            key_pool,
            attempt_timeout_seconds=settings.attempt_timeout.total_seconds(),
            idle_timeout_seconds=settings.idle_timeout.total_seconds(),
            first_output_timeout_seconds=_first_output_seconds(settings),
        )

    def _models(self) -> list[Model]:
        kind = self._settings.type
        if kind == OFFLINE:
            return [self._with_overrides(OfflineModel())]
        if kind == PYTHON:
            path = self._settings.factory or ""
            factory = import_user_object(path, setting=f"{self._path}.Factory", folder=self._context.folder)
            return [self._from_factory(factory)]
        if kind in find_entry_points(MODELS_GROUP):
            return [self._from_factory(load_entry_point(find_entry_points(MODELS_GROUP)[kind]))]
        return self._http_models() if to_litellm_type(kind) in HTTP_TYPES else self._litellm()

    def _http_models(self) -> list[Model]:
        settings, transport = self._settings, self._context.transport
        url, num_ctx = self._base_url(), self._num_ctx()
        infos = [self._info(to_litellm_type(settings.type), name, url) for name in self._names()]
        return [create_http_model(info, url, settings, transport, num_ctx=num_ctx) for info in infos]

    def _num_ctx(self) -> int | None:
        """Return the window that somebody has chosen. One that was discovered is the largest that the model can have,
        and would occupy memory for all of it.
        """
        return read_context_length(self._context.environment) if self._is_discovered else self._settings.context_window

    def _litellm(self) -> list[Model]:
        prefix = to_litellm_type(self._settings.type)
        return [
            LiteLLMModel(
                self._info(prefix, name, self._settings.base_url),
                litellm_name=name if prefix == LITELLM or name.startswith(f"{prefix}/") else f"{prefix}/{name}",
                base_url=self._settings.base_url,
                timeout_seconds=self._settings.timeout.total_seconds(),
            )
            for name in self._names()
        ]

    def _info(self, kind: str, name: str, url: str | None) -> ModelInfo:
        overrides = self._info_overrides()
        if kind not in OLLAMA_TYPES and is_private_server(kind, url):
            overrides["hosting"] = "private"
        return self._with_capabilities(
            lookup_model_info(kind, name, provider_id=self._settings.id, overrides=overrides)
        )

    def _with_capabilities(self, info: ModelInfo) -> ModelInfo:
        settings = self._settings
        declared = (*settings.capabilities, *settings.model_capabilities.get(info.name, ()))
        return declare_capabilities(info, declared, function_calling=settings.function_calling)

    def _names(self) -> tuple[str, ...]:
        """Return the configured models, else the provider's default model."""
        settings = self._settings
        if settings.models:
            return settings.models
        if settings.type == OLLAMA:
            models = list_ollama_models(settings.base_url or resolve_ollama_url(self._context.environment))
            if models:
                return (select_preferred_model(models).name,)
        defaults = find_provider_defaults(settings.type)
        if defaults is None or settings.base_url is not None:
            raise self._problem("Models", "name at least one model")
        return (defaults.default_model,)

    def _base_url(self) -> str:
        url = find_base_url(self._settings, self._context.environment)
        if url is None:
            raise self._problem(
                "BaseUrl", f"a provider of type {self._settings.type!r} needs one, such as https://host/v1"
            )
        return url

    def _check_type(self) -> None:
        kind, plugins = self._settings.type, find_entry_points(MODELS_GROUP).keys()
        types = list_provider_types() | plugins
        if kind not in types:
            hint = (
                suggest_nearest(kind, types)
                or f"; for a server with an OpenAI-compatible API write {OPENAI_COMPATIBLE!r}"
            )
            raise self._problem("Type", f"{kind!r} is not a provider type{hint}")
        if needs_litellm(kind) and kind not in plugins and not is_litellm_installed():
            raise self._problem("Type", f"litellm alone serves {kind!r}: {install_command(LITELLM)}")

    def _keys(self) -> list[str]:
        secrets, environment = self._settings.keys, self._context.environment
        if not secrets:
            return self._default_key()
        found = [key for key in (secret.resolve(environment) for secret in secrets) if key is not None]
        if not found:
            missing = [_describe_missing_secret(secret.source_description) for secret in secrets]
            raise self._problem("Keys", "; ".join(missing))
        for key in found:
            if not key.isascii() or not key.isprintable() or " " in key:
                # Checked here, because an HTTP client would show the key in its error message.
                raise self._problem(
                    "Keys", "a key contains characters that are not allowed (white space or non-ASCII letters)"
                )
        return found

    def _default_key(self) -> list[str]:
        """Return the key from its customary environment variable; a server with its own BaseUrl may need none."""
        defaults = find_provider_defaults(self._settings.type)
        if defaults is None:
            return []
        values = (self._context.environment.get(name, "").strip() for name in defaults.key_variables)
        key = next(filter(None, values), None)
        if key is None and self._settings.base_url is None:
            raise self._problem(
                "Keys", f"no key is configured, and the environment variable {defaults.key_variables[0]} is not set"
            )
        return [key] if key else []

    def _from_factory(self, factory: object) -> Model:
        if len(self._settings.models) > 1:
            raise self._problem("Models", "a factory returns one model; configure one provider per model")
        return self._with_overrides(create_model_from_factory(factory, self._settings, f"{self._path}.Factory"))

    def _with_overrides(self, model: Model) -> Model:
        name = {"name": self._settings.models[0]} if self._settings.models else {}
        known = override_info(model, provider=self._settings.id, **name, **self._info_overrides())
        info = self._with_capabilities(known.info)
        return override_info(known, function_calling=info.function_calling, capabilities=info.capabilities)

    def _info_overrides(self) -> dict[str, Any]:
        """Return the facts that the settings state about the models, as fields of ModelInfo."""
        settings = self._settings
        prices = (settings.prices.input, settings.prices.output) if settings.prices else None
        overrides = {
            "context_window": settings.context_window,
            "function_calling": settings.function_calling,
            "prices": prices,
        }
        return {name: value for name, value in overrides.items() if value is not None}

    def _problem(self, key: str, sentence: str) -> SettingsError:
        return SettingsError([f"{self._path}.{key}: {sentence}"])


def _describe_missing_secret(origin: str) -> str:
    if origin.startswith("environment variable"):
        return f"the {origin} is not set"
    return f"the {origin} is missing, empty or cannot be read"


class ModelWithOverrides:
    """Wrapper that delegates to a model and has its own `info`."""

    __slots__ = ("_model", "info")

    def __init__(self, model: Model, info: ModelInfo) -> None:
        self._model = model
        self.info = info

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Call the wrapped model."""
        return await self._model.complete(request)

    def prepare_message(self, message: Message) -> None:
        """Have the wrapped model prepare a message if it does."""
        prepare = getattr(self._model, "prepare_message", None)
        if prepare is not None:
            prepare(message)

    async def aclose(self) -> None:
        """Close the wrapped model if it has an `aclose`."""
        close = getattr(self._model, "aclose", None)
        if close is not None:
            await close()


def override_info(model: Model, **fields: Any) -> Model:
    """Return the model with these fields of ModelInfo replaced; the model itself if nothing changes."""
    if "prices" in fields:
        fields.setdefault("cached_input_price", None)  # the model's own belongs to the model's own prices
    info = replace(model.info, **fields)
    if info.function_calling != ("function_calling" in info.capabilities) and "function_calling" in fields:
        names = info.capabilities - {"function_calling"}
        info = replace(info, capabilities=names | {"function_calling"} if info.function_calling else names)
    return model if info == model.info else ModelWithOverrides(model, info)


def create_model_from_factory(factory: object, settings: ProviderSettings, setting: str) -> Model:
    """Call a factory function from the user's code and return its model.

    The factory receives the provider's settings if it has a required positional parameter. `setting` is the settings
    path that starts the problem line. Raises SettingsError if the factory is not callable, fails, is async, or returns
    something without `info` and `complete`.
    """
    path = settings.factory or settings.type
    if not callable(factory):
        raise SettingsError([f"{setting}: {path!r} is not a function"])
    try:
        model: object = factory(settings) if requires_positional_argument(factory) else factory()
    except Exception as error:
        raise SettingsError([f"{setting}: {path!r} failed: {type(error).__name__}: {error}"]) from error
    if isinstance(model, Coroutine):
        model.close()
        raise SettingsError([f"{setting}: {path!r} is async; the factory must return the model directly"])
    if not callable(getattr(model, "complete", None)) or not hasattr(model, "info"):
        kind = type(model).__name__
        problem = f"returned a value of type {kind}, which is not a model: it needs `info` and `complete`"
        raise SettingsError([f"{setting}: {path!r} {problem}"])
    return cast(Model, model)


def requires_positional_argument(function: Callable[..., object]) -> bool:
    """Return whether the function has a positional parameter without a default."""
    return any(
        parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is inspect.Parameter.empty
        for parameter in inspect.signature(function).parameters.values()
    )
