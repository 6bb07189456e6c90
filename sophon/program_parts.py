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
    find_unknown_tools,
)
from sophon.errors import SettingsError
from sophon.setting_references import find_taken_server_ids
from sophon.settings import Settings
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
    if parts.store is None and "url" in settings.store.model_fields_set:
        parts.store = collect_problems(lambda: create_store(settings, {}, folder, clock), problems)
    if parts.skills is None and "directories" in settings.skills.model_fields_set:
        parts.skills = create_skill_catalog(settings, folder)
    if settings.embeddings.model_fields_set or settings.routing.policy_file is not None:
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
        routing = settings.routing
        parts.policies = create_policy_cache(
            parts.store.vectors, parts.embedder, clock, settings.learning, routing.min_similarity
        )
