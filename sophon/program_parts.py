"""Parts that the settings of a program's services name: created like those of a host, but without an environment."""

from pathlib import Path

from sophon.clock import Clock
from sophon.configured_parts import (
    ServiceParts,
    collect_problems,
    create_skill_catalog,
    create_store,
    find_shield_problems,
    find_unknown_models,
)
from sophon.errors import SettingsError
from sophon.setting_references import find_taken_server_ids, find_unknown_tools
from sophon.settings import Settings
from sophon.stores.factory import MEMORY_SCHEME
from sophon.stores.in_memory_store import InMemoryStore

REMEDY = "Services(settings=...) reads no environment: write Services.from_settings(...), which does"


def add_program_parts(parts: ServiceParts, settings: Settings, folder: Path, clock: Clock, *, has_models: bool) -> None:
    """Add to `parts` what the settings name and the program has not passed: models, store, tools, skills, embedder.

    A default of the settings creates nothing: only what was set does. Raises SettingsError with all problems at once.
    """
    problems: list[str] = []
    if settings.providers and not has_models:
        from sophon.models.providers.factory import create_providers  # lazy, as all parts that few programs configure

        made = collect_problems(
            lambda: create_providers(settings, environment={}, clock=clock, folder=folder, discover=False), problems
        )
        parts.providers = made or []
    if settings.tools.modules:
        from sophon.plugins.tool_modules import tools_from_modules

        modules = collect_problems(lambda: tools_from_modules(settings.tools.modules, folder=folder), problems)
        parts.tools += modules or ()
    # In memory, the default is the faster one for a chain in one's own process.
    is_named = "url" in settings.store.model_fields_set and settings.store.url.resolve({}) != MEMORY_SCHEME
    if parts.store is None and is_named:
        parts.store = collect_problems(lambda: create_store(settings, {}, folder, clock), problems)
    if parts.skills is None and "directories" in settings.skills.model_fields_set:
        parts.skills = create_skill_catalog(settings, folder)
    routing = settings.routing
    if settings.embeddings.model_fields_set or routing.policy_file is not None or routing.learns:
        _add_similarity(parts, settings, clock, problems)
    if parts.vault is None:
        problems += [
            f"Vault.{name}.Secret: the {each.secret.source_description} is missing"
            for name, each in settings.vault.items()
            if each.secret.variable is not None
        ]
    if not problems:
        problems += find_unknown_tools(settings, parts.tools)
        problems += find_unknown_models(settings, parts.providers, folder, parts.embedder)
    problems += find_shield_problems(settings, folder) + find_taken_server_ids(settings, parts.tools)
    if problems:
        needs_environment = any("environment variable" in each for each in problems)
        raise SettingsError([*problems, *([REMEDY] if needs_environment else [])])


def _add_similarity(parts: ServiceParts, settings: Settings, clock: Clock, problems: list[str]) -> None:
    from sophon.models.embeddings.factory import create_cached_embedder
    from sophon.stores.vectors.policies import create_policy_cache

    if parts.embedder is None:
        prices = settings.budget.default_price_pair
        parts.embedder = collect_problems(
            lambda: create_cached_embedder(settings.embeddings, {}, clock, default_prices=prices), problems
        )
    if parts.policies is None and parts.embedder is not None:
        parts.store = parts.store or InMemoryStore(clock=clock)
        parts.policies = create_policy_cache(parts.store.vectors, parts.embedder, clock)
