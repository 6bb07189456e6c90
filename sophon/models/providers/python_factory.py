"""Provider type `python`: creates a model by calling a factory function from the user's code."""

import inspect
from collections.abc import Callable, Coroutine
from typing import cast

from sophon.errors import SettingsError
from sophon.models.model import Model
from sophon.settings import ProviderSettings


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
