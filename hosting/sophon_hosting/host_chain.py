"""Composition of the middleware chain: by name, or from the user's `Chain.Factory` function."""

import difflib
from collections.abc import Coroutine
from typing import cast

from sophon.chain.insertion import insert_in_front
from sophon.chain.pipeline import Pipeline
from sophon.composition.configured_parts import find_memory_folder
from sophon.errors import NotFound, SettingsError, SophonError
from sophon.plugins.entry_points import MIDDLEWARES_GROUP, find_entry_points, load_entry_point
from sophon.plugins.import_paths import import_user_object
from sophon.services import Services
from sophon.settings import Settings
from sophon.task_types import TaskType
from sophon.turn.pipeline_registry import PipelineRegistry
from sophon_hosting.daily_log import read_daily_log
from sophon_hosting.model_hooks import add_hooks_of
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.guards.description import CompletesSettings, find_turn_settings
from sophon_middlewares.guards.insertion import add_guards
from sophon_middlewares.learning.insertion import add_learning
from sophon_middlewares.memory.memory import add_memory
from sophon_middlewares.memory.preferences import add_preferences
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.skills.custom_tools import add_custom_tools
from sophon_middlewares.skills.skills import add_skills

FACTORY_SETTING = "Chain.Factory"


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
    """Build the chain of the settings: `Chain.Factory` if it is set, else `Chain.Name`, with the enabled `Guards`,
    with Memory, Skills and Trace, and where the settings want them with Learning and Scoring.

    Raises SettingsError for a factory that cannot be loaded, fails or returns no Pipeline; NotFound, CompositionError.
    """
    return _complete(_build_without_guards(services), services)


def build_named_chain(services: Services, name: str) -> Pipeline:
    """Build a chain by its name, with what the settings insert into each: guards, memory, skills, learning and others.

    Raises NotFound with similar names, SettingsError, CompositionError.
    """
    chain = build_chain(services, name)
    if services.settings.chain.name != "twelve" and not any(isinstance(each, CompletesSettings) for each in chain):
        from sophon_middlewares.stages.published_settings import ChainDefaults  # lazy: only some chains have constants

        chain = insert_in_front(chain, ChainDefaults({}))  # takes those of the host's chain away
    return _complete(chain, services)


def build_pipelines(services: Services) -> PipelineRegistry:
    """Build the configured chain and those of `Chain.TaskTypes`, each with guards, Skills, memory and learning, and
    with the model hooks of the configured one.

    Raises what `build_configured_chain` raises, and SettingsError if only some of the chains record their turns.
    """
    default = build_configured_chain(services)
    chains: dict[TaskType, Pipeline] = {
        cast(TaskType, kind): add_hooks_of([default], build_named_chain(services, name))
        for kind, name in services.settings.chain.task_types.items()
    }
    for kind, chain in chains.items():
        if records_turns(chain) != records_turns(default):
            raise SettingsError([f"Chain.TaskTypes.{kind}: all chains must have SessionEvents, or none"])
    return PipelineRegistry(default, chains)


def records_turns(chain: Pipeline) -> bool:
    """Return whether a chain has SessionEvents."""
    return any(isinstance(each, SessionEvents) for each in chain)


def _complete(chain: Pipeline, services: Services) -> Pipeline:
    settings = find_turn_settings(chain, services.settings)
    chain = add_learning(chain, settings)
    if settings.memory.enabled:
        chain = add_memory(chain, find_memory_folder(services.settings, services.folder), read_daily_log)
    if services.agents is not None:
        from sophon_middlewares.agents.agents import add_agents  # lazy: most hosts have no agents

        chain = add_agents(chain)
    if services.custom_tools is not None:
        chain = add_custom_tools(chain)
    if services.skills is not None:
        chain = add_skills(chain)
    if settings.preferences.enabled:
        chain = add_preferences(chain)
    if settings.replies.is_any_enabled:
        from sophon_middlewares.replies.insertion import add_reply_stages  # lazy: off by default

        chain = add_reply_stages(chain, settings.replies)
    if settings.decisions.enabled:
        from sophon_middlewares.decisions.decision_layer import add_decisions  # lazy: off by default

        chain = add_decisions(chain)
    chain = add_guards(chain, settings.guards)
    if settings.traces.enabled and services.learns:
        from sophon_middlewares.traces.trace import add_trace  # lazy: only what is traced needs it

        chain = add_trace(chain)
    return chain


def _build_without_guards(services: Services) -> Pipeline:
    chain = services.settings.chain
    if chain.factory is None:
        return build_chain(services, chain.name)
    factory = import_user_object(chain.factory, setting=FACTORY_SETTING, folder=services.folder)
    return _call_factory(factory, services, chain.factory, FACTORY_SETTING)


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
