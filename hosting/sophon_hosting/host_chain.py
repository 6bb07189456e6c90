"""Composition of the middleware chain: by name, or from the user's `Chain.Factory` function."""

import difflib
from collections.abc import Coroutine
from importlib import import_module
from typing import cast

from sophon.chain.order_constraints import get_middleware_name
from sophon.chain.pipeline import Middleware, Pipeline
from sophon.chain.placement import Additions, place
from sophon.entry_points import find_entry_points, load_entry_point
from sophon.errors import NotFound, SettingsError, SophonError
from sophon.plugins.import_paths import import_user_object
from sophon.plugins.installed_plugins import MIDDLEWARES_GROUP
from sophon.services import Services
from sophon.settings import Settings
from sophon.task_types import TaskType
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.runs.daily_log import read_daily_log
from sophon_middlewares.chains import CHAINS, NOTHING
from sophon_middlewares.chains.additions import GUARD_ORDER, find_additions
from sophon_middlewares.guards.guard_description import CompletesSettings
from sophon_middlewares.outer.session_events.session_events import SessionEvents

FACTORY_SETTING = "Chain.Factory"

FEATURES = "sophon_hosting.features.registry"
"""Module with the middlewares of the features, by name, because these stand above the chain."""


def build_chain(services: Services, name: str) -> Pipeline:
    """Build a chain of `sophon_middlewares.chains` or of an installed plug-in by its name.

    Raises NotFound with similar names, SettingsError, CompositionError.
    """
    if name in CHAINS:
        return CHAINS[name](services)
    plugins = find_entry_points(MIDDLEWARES_GROUP)
    if name in plugins:
        return _call_factory(load_entry_point(plugins[name]), services, plugins[name].value, "Chain.Name")
    raise _unknown_chain(name)


def check_chain_name(settings: Settings) -> None:
    """Raise NotFound if `Chain.Name` is no chain and no `Chain.Factory` takes its place."""
    if settings.chain.factory is None and settings.chain.name not in list_chain_names():
        raise _unknown_chain(settings.chain.name)


def _unknown_chain(name: str) -> NotFound:
    names = list_chain_names()
    return NotFound("chain", name, difflib.get_close_matches(name.casefold(), names, n=3, cutoff=0.4) or names)


def list_chain_names() -> list[str]:
    """Return the names of all chains, those of installed plug-ins too."""
    return sorted({*CHAINS, *find_entry_points(MIDDLEWARES_GROUP)})


def build_configured_chain(services: Services) -> Pipeline:
    """Build the chain of the settings, with all that they add.

    Raises SettingsError for a factory that cannot be loaded, fails or returns no Pipeline; NotFound, CompositionError.
    """
    return complete_configured_chain(build_own_chain(services), services)


def build_own_chain(services: Services) -> Pipeline:
    """Build the chain of the settings, `Chain.Factory` if it is set, else `Chain.Name`, with nothing added to it.

    Raises what `build_configured_chain` raises.
    """
    chosen = services.settings.chain
    if chosen.factory is None:
        return build_chain(services, chosen.name)
    factory = import_user_object(chosen.factory, setting=FACTORY_SETTING, folder=services.folder)
    return _call_factory(factory, services, chosen.factory, FACTORY_SETTING)


def complete_configured_chain(own: Pipeline, services: Services) -> Pipeline:
    """Return what `build_own_chain` built with all that the settings add. Raises CompositionError."""
    chosen = services.settings.chain
    return _complete(own, services, chosen.name if chosen.factory is None else "")


def build_named_chain(services: Services, name: str) -> Pipeline:
    """Build a chain by its name, with all that the settings add.

    Raises NotFound with similar names, SettingsError, CompositionError.
    """
    chain = build_chain(services, name)
    if services.settings.chain.name == "twelve" or any(isinstance(each, CompletesSettings) for each in chain):
        return _complete(chain, services, name)
    from sophon_middlewares.stages.chain_defaults import ChainDefaults  # lazy: only some chains have constants

    without_constants = ChainDefaults({})  # takes those of the host's chain away
    return _complete(chain, services, name, {"ChainDefaults": without_constants})


def build_pipelines(services: Services) -> PipelineRegistry:
    """Build the configured chain and those of `Chain.TaskTypes`, each with guards, Skills, memory and learning, and
    with the model hooks of the configured one.

    Raises what `build_configured_chain` raises, and SettingsError if only some of the chains record their turns.
    """
    default = build_configured_chain(services)
    chains: dict[TaskType, Pipeline] = {
        cast(TaskType, kind): place_model_hooks(build_named_chain(services, name), PipelineRegistry(default))
        for kind, name in services.settings.chain.task_types.items()
    }
    for kind, chain in chains.items():
        if records_turns(chain) != records_turns(default):
            raise SettingsError([f"Chain.TaskTypes.{kind}: all chains must have SessionEvents, or none"])
    return PipelineRegistry(default, chains)


def place_model_hooks(chain: Pipeline, pipelines: PipelineRegistry) -> Pipeline:
    """Return the chain with those middlewares of the host's turns that hook every model call and that it does not have.

    Of several chains by task type the first middleware of each name counts.
    """
    hooks: dict[str, Middleware] = {}
    for turns in (pipelines.default, *pipelines.by_type.values()):
        for each in turns:
            if getattr(each, "hooks_model_calls", False):
                hooks.setdefault(get_middleware_name(each), each)
    return place(chain, hooks.values())


def records_turns(chain: Pipeline) -> bool:
    """Return whether a chain has SessionEvents."""
    return any(isinstance(each, SessionEvents) for each in chain)


def _complete(chain: Pipeline, services: Services, name: str = "", first: Additions = NOTHING) -> Pipeline:
    """Return the chain with what the settings add, in the places of its list or where `place` puts it, and with what
    features add, where `place` puts it.
    """
    if first:
        chain = _add(chain, services, name, first)
    chain = _add(chain, services, name, {**first, **find_additions(chain, services, read_daily_log)})
    return place(chain, import_module(FEATURES).list_middlewares(services))


def _add(chain: Pipeline, services: Services, name: str, added: Additions) -> Pipeline:
    return CHAINS[name](services, added) if name in CHAINS else place(chain, added.values(), GUARD_ORDER)


def _call_factory(factory: object, services: Services, path: str, setting: str) -> Pipeline:
    if not callable(factory):
        raise SettingsError([f"{setting}: {path!r} is not a function"])
    try:
        pipeline: object = factory(services)
    except SophonError:  # its message explains the problem, for example a CompositionError
        raise
    except Exception as error:
        raise SettingsError([f"{setting}: {path!r} failed: {type(error).__name__}: {error}"]) from error
    if isinstance(pipeline, Coroutine):
        pipeline.close()
        raise SettingsError([f"{setting}: {path!r} is async; it must be a plain function that returns the Pipeline"])
    if not isinstance(pipeline, Pipeline):
        raise SettingsError([f"{setting}: {path!r} returned {type(pipeline).__name__}, not a Pipeline"])
    return pipeline
