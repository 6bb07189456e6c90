"""Parts of the services that settings choose: providers, tools, skills, agents, the policy of Shield, router, store.

What few processes need is imported when it is created, so that the others do not pay for it.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sophon.builtin_tools import builtin_tools
from sophon.builtin_tools.questions import chat_ask
from sophon.clock import Clock
from sophon.composition.setting_references import (
    find_unknown_answer_evaluator,
    find_unknown_budgets,
    find_unknown_evaluator,
)
from sophon.errors import CompositionError, SettingsError
from sophon.models.gateway.provider import Provider
from sophon.models.model import Model
from sophon.models.offline import OfflineModel
from sophon.settings import RoutingSettings, Settings
from sophon.stores.contract import Store
from sophon.stores.factory import StoreFactory
from sophon.tools.registry import validate_tools
from sophon.tools.tool import Tool

if TYPE_CHECKING:
    from sophon.agents.agent_runtime import AgentRuntime
    from sophon.learning.contract import Embedder, PolicyCache
    from sophon.routing.router import Router
    from sophon.security.policy import Policy
    from sophon.skills.catalog import SkillCatalog
    from sophon.skills.custom_tools import CustomToolStore

T = TypeVar("T")


def configure_providers(providers: Sequence[Provider], settings: Settings) -> None:
    """Give providers what the settings say about all of them: default prices."""
    prices = settings.budget.default_price_pair
    if prices is None:
        return
    for provider in providers:
        provider.use_default_prices(prices)


def needs_embedder(settings: Settings, *, uses_defaults: bool = True) -> bool:
    """Return whether an embedder is to be created: a setting asks for one, or the defaults are used and can have one.

    A default needs no extra: without numpy nothing is compared by similarity.
    """
    routing = settings.routing
    is_set = bool(settings.embeddings.model_fields_set) or settings.context_window.strategy == "Relevant"
    is_set = is_set or routing.policy_file is not None or routing.learns
    return is_set or (uses_defaults and find_spec("numpy") is not None)


MEMORY_GROUP = "memory"
MODEL_HINT = "FunctionModel wraps a function as a model; model names belong in the setting Providers"


def to_providers(models: Model | Provider | Sequence[Model | Provider] | None) -> list[Provider]:
    """Return providers in priority order; a bare model is wrapped in a provider of its own.

    Raises CompositionError for a value that is not a model, and for two providers with the same id, because budgets
    are kept by provider id.
    """
    if models is None:
        models = [OfflineModel()]
    if isinstance(models, str):  # a str is a Sequence too
        raise CompositionError(f"{models!r} is not a model: {MODEL_HINT}")
    given = models if isinstance(models, Sequence) else [models]
    taken: set[str] = set()
    providers: list[Provider] = []
    for position, model in enumerate(given, start=1):
        if not isinstance(model, Provider):
            if isinstance(model, type) or not hasattr(model, "info"):
                raise CompositionError(f"{model!r:.60} is not a model: {MODEL_HINT}")
            if not hasattr(model.info, "provider"):
                raise CompositionError(
                    f"{model!r:.60}: its info is {model.info!r:.40}, and not a sophon.models.model.ModelInfo"
                )
            name = model.info.provider
            model = Provider(name if name not in taken else f"{name}-{position}", [model], priority=position)
        if model.id in taken:
            raise CompositionError(f"two providers have the id {model.id!r}; each needs its own")
        taken.add(model.id)
        providers.append(model)
    return providers


def add_builtin_tools(tools: Sequence[Tool], settings: Settings) -> list[Tool]:
    """Return the user's tools, then the built-in ones that they do not replace, without disabled ones.

    Memory tools are included only if the memory is enabled, `chat.ask` only with `Approval.Questions`.
    """
    own = validate_tools(tools)
    names = {tool.name for tool in own}
    builtin = [tool for tool in builtin_tools() if settings.memory.enabled or tool.group != MEMORY_GROUP]
    if settings.custom_tools.enabled:
        from sophon.builtin_tools.custom_tool_management import custom_tool_tools  # lazy, as for variables

        builtin += custom_tool_tools()
    if settings.tools.variables:
        from sophon.builtin_tools.variables import variable_tools  # lazy: most hosts do not offer it

        builtin += variable_tools()
    if settings.approval.questions:
        builtin = [chat_ask, *builtin]  # first: the tool filter then offers it whatever a message is about
    every = [*own, *(tool for tool in builtin if tool.name not in names)]
    return [tool for tool in every if tool.name not in settings.tools.disabled]


def list_skill_folders(settings: Settings, folder: Path) -> list[Path]:
    """Return the folders of `Skills.Directories`; `folder` is the base of relative ones."""
    return [(folder / each.expanduser()).absolute() for each in settings.skills.directories]


def create_custom_tool_store(settings: Settings, folder: Path) -> "CustomToolStore | None":
    """Return the store of `CustomTools.Directory`; None if custom tools are off."""
    chosen = settings.custom_tools
    if not chosen.enabled:
        return None
    from sophon.skills.custom_tools import CustomToolStore

    return CustomToolStore((folder / chosen.directory.expanduser()).absolute())


def create_agent_runtime(settings: Settings, folder: Path) -> "AgentRuntime | None":
    """Return the agents of the folder `Agents.Directory`, and of `Agents.Worker`; None without both, so that a process
    without agents pays nothing for them.
    """
    chosen = settings.agents
    if not chosen.enabled:
        return None
    from sophon.agents.agent_runtime import AgentRuntime
    from sophon.agents.catalog import AgentCatalog

    return AgentRuntime(AgentCatalog(find_agent_folder(settings, folder), has_worker=chosen.worker))


def find_agent_folder(settings: Settings, folder: Path) -> Path | None:
    """Return the folder of `Agents.Directory`, whose base is `folder`; None without one."""
    directory = settings.agents.directory
    return None if directory is None else (folder / directory.expanduser()).absolute()


def find_memory_folder(settings: Settings, folder: Path) -> Path | None:
    """Return the folder of the workspace files, whose base is `folder`; None without memory or `Memory.Directory`."""
    memory = settings.memory
    if not memory.enabled or memory.directory is None:
        return None
    return (folder / memory.directory.expanduser()).absolute()


def create_skill_catalog(settings: Settings, folder: Path) -> "SkillCatalog | None":
    """Return the catalogue of the folders in `Skills.Directories`; None if skills are off or none of them exists yet.

    So a process without skills pays nothing for them.
    """
    folders = list_skill_folders(settings, folder)
    if not settings.skills.enabled or not any(each.is_dir() for each in folders):
        return None
    from sophon.skills.catalog import SkillCatalog

    return SkillCatalog(folders)


def find_shield_problems(settings: Settings, folder: Path) -> list[str]:
    """Return a problem for a policy file or a classifier of Shield that cannot be used."""
    shield, problems = settings.guards.shield, list[str]()
    if shield.enabled and shield.policy_file is not None:
        collect_problems(lambda: load_shield_policy(settings, folder), problems)
    if shield.enabled and (reference := shield.classifier) is not None:
        from sophon.plugins.configured_shield_classifier import load_classifier  # lazy, as above

        collect_problems(lambda: load_classifier(reference, shield.classifier_labels, folder), problems)
    return problems


def load_shield_policy(settings: Settings, folder: Path) -> "Policy":
    """Return the configured policy, or the one that Sophon ships. Raises SettingsError."""
    from sophon.security.policy import Policy, PolicyError  # lazy: it needs YAML and RE2

    name = settings.guards.shield.policy_file
    if name is None:
        return Policy.default()
    try:
        return Policy.load((folder / name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}"
    except PolicyError as error:
        problem = f"{name!r}: {error}"
    raise SettingsError([f"Guards.Shield.PolicyFile: {problem}"])


def create_router(
    settings: RoutingSettings,
    clock: Clock,
    folder: Path,
    embedder: "Embedder | None" = None,
    policies: "PolicyCache | None" = None,
) -> "Router":
    """Return a router by the settings."""
    # Lazy: a turn that is routed by priority needs no router.
    from sophon.builtin_tools.arithmetic_evaluator import answer_arithmetic
    from sophon.routing.router import Router
    from sophon.routing.transform_booster import answer_transform

    boosters = [answer_arithmetic, answer_transform]
    return Router(settings, clock=clock, embedder=embedder, policies=policies, boosters=boosters, folder=folder)


def find_unknown_models(
    settings: Settings, providers: Sequence[Provider], embedder: "Embedder | None" = None
) -> list[str]:
    """Return a problem for each provider and model that the settings name and that is not there.

    If the embedder is metered, its provider may have a budget too.
    """
    ids = [provider.id for provider in providers]
    if embedder is not None and settings.budget.providers:
        from sophon.models.embeddings.metered_embedder import find_metered_provider  # lazy: few have one

        ids += filter(None, [find_metered_provider(embedder)])
    problems = find_unknown_budgets(settings, ids)
    problems += find_unknown_evaluator(settings, providers) + find_unknown_answer_evaluator(settings, providers)
    if settings.routing.names_models:
        from sophon.routing.named_model_check import (
            find_unknown_models as find_unrouted_models,  # lazy: few name models
        )

        problems += find_unrouted_models(settings.routing, providers)
    return problems


def collect_problems(make: Callable[[], T], problems: list[str]) -> T | None:
    """Return `make()`; on SettingsError add its problems to `problems` and return None."""
    try:
        return make()
    except SettingsError as error:
        problems += error.problems
        return None


def create_store(
    settings: Settings, environment: Mapping[str, str], folder: Path, clock: Clock, make: StoreFactory
) -> Store:
    """Return the store of `Store.Url`, not opened. Raises SettingsError."""
    url = settings.store.url.resolve(environment)
    if url is None:
        raise SettingsError([f"Store.Url: the {settings.store.url.source_description} is missing or empty"])
    return make(url, folder=folder, clock=clock)
