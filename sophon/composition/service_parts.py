"""What services are assembled from: the parts that were passed, and those that the settings name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalGate
from sophon.clock import Clock
from sophon.composition.part_factories import (
    collect_problems,
    create_skill_catalog,
    create_store,
    find_shield_problems,
    find_unknown_models,
    needs_embedder,
    to_providers,
)
from sophon.composition.setting_references import find_taken_tool_prefixes, find_unknown_tools
from sophon.context.turn_log import TurnLog
from sophon.errors import SettingsError
from sophon.events import EventSink
from sophon.models.gateway.provider import Provider
from sophon.settings import Settings
from sophon.stores.contract import Store
from sophon.stores.factory import MEMORY_SCHEME, StoreFactory, store_from_url
from sophon.stores.in_memory_store import InMemoryStore
from sophon.tools.tool import Tool
from sophon.vault import CredentialVault

if TYPE_CHECKING:
    from sophon.learning.contract import Embedder, PolicyCache
    from sophon.security.policy import Policy
    from sophon.skills.catalog import SkillCatalog

REMEDY = "Services(settings=...) reads no environment: write Services.from_settings(...), which does"


@dataclass(slots=True)
class ServiceParts:
    """What services are assembled from; a None stands for the part's default, if it has one."""

    providers: list[Provider] | None = None
    tools: Sequence[Tool] = ()
    store: Store | None = None
    approvals: ApprovalGate | None = None
    events: EventSink | None = None
    instructions: str | None = None
    turn_log: TurnLog | None = None
    policy: "Policy | None" = None
    vault: CredentialVault | None = None
    skills: "SkillCatalog | None" = None
    embedder: "Embedder | None" = None
    policies: "PolicyCache | None" = None
    make_store: StoreFactory = store_from_url


def add_configured_parts(
    parts: ServiceParts, settings: Settings, folder: Path, clock: Clock, environment: Mapping[str, str] | None = None
) -> None:
    """Add to `parts` what the settings name and was not passed: models, tools, store, skills, embedder, credentials.

    With an `environment`, as for a host: the defaults of the settings and the tools of plug-ins are parts, too. Without
    one, as for a program: a default creates nothing, only what was set does. Raises SettingsError with all problems at
    once.
    """
    _PartsBuilder(parts, settings, folder, clock, environment).build()


class _PartsBuilder:
    def __init__(
        self,
        parts: ServiceParts,
        settings: Settings,
        folder: Path,
        clock: Clock,
        environment: Mapping[str, str] | None,
    ) -> None:
        self._parts, self._settings, self._folder, self._clock = parts, settings, folder, clock
        self._uses_defaults = environment is not None
        self._environment = environment or {}
        self._problems: list[str] = []

    def build(self) -> None:
        parts, settings, problems = self._parts, self._settings, self._problems
        providers, has_tools = self._add_models(), self._add_tools()
        self._add_store()
        if parts.skills is None and (self._uses_defaults or "directories" in settings.skills.model_fields_set):
            parts.skills = create_skill_catalog(settings, self._folder)
        self._add_similarity()
        self._add_vault()
        if has_tools:
            problems += find_unknown_tools(settings, parts.tools)
        if providers is not None:
            problems += find_unknown_models(settings, providers, parts.embedder)
        problems += find_shield_problems(settings, self._folder) + find_taken_tool_prefixes(settings, parts.tools)
        if problems:
            needs_environment = not self._uses_defaults and any("environment variable" in each for each in problems)
            raise SettingsError([*problems, *([REMEDY] if needs_environment else [])])

    def _add_models(self) -> list[Provider] | None:
        """Create the providers of the settings, if none were passed; return those in use, None if some cannot be."""
        if self._parts.providers is None and (self._uses_defaults or self._settings.providers):
            from sophon.models.providers.provider_factory import create_providers  # lazy: few programs configure models

            self._parts.providers = collect_problems(
                lambda: create_providers(
                    self._settings, environment=self._environment, clock=self._clock, folder=self._folder
                ),
                self._problems,
            )
            return self._parts.providers
        return to_providers(None) if self._parts.providers is None else self._parts.providers

    def _add_tools(self) -> bool:
        """Add the tools of `Tools.Modules`, then those of plug-ins; return False if some of them cannot be loaded."""
        loaded: list[list[Tool] | None] = []
        if names := self._settings.tools.modules:
            from sophon.plugins.tool_modules import tools_from_modules  # lazy, as above

            loaded.append(collect_problems(lambda: tools_from_modules(names, folder=self._folder), self._problems))
        if self._uses_defaults:
            from sophon.plugins.installed_plugins import load_installed_tools  # lazy, as above

            loaded.append(collect_problems(load_installed_tools, self._problems))
        self._parts.tools = [*self._parts.tools, *(tool for tools in loaded for tool in tools or ())]
        return None not in loaded

    def _add_store(self) -> None:
        settings, url = self._settings, self._settings.store.url
        # In memory, the default is the faster one for a chain in one's own process.
        is_named = "url" in settings.store.model_fields_set and url.resolve({}) != MEMORY_SCHEME
        if self._parts.store is None and (self._uses_defaults or is_named):
            self._parts.store = collect_problems(
                lambda: create_store(settings, self._environment, self._folder, self._clock, self._parts.make_store),
                self._problems,
            )

    def _add_similarity(self) -> None:
        """Create the embedder, and the cache of routing decisions, which finds them by similarity."""
        parts, embeddings = self._parts, self._settings.embeddings
        if not needs_embedder(self._settings, uses_defaults=self._uses_defaults):
            return
        from sophon.models.embeddings.embedder_factory import create_cached_embedder  # lazy, as above
        from sophon.stores.vectors.stored_policies import create_policy_cache

        prices = self._settings.budget.default_price_pair
        if parts.embedder is None:
            parts.embedder = collect_problems(
                lambda: create_cached_embedder(embeddings, self._environment, self._clock, default_prices=prices),
                self._problems,
            )
        if parts.policies is None and parts.embedder is not None:
            parts.store = parts.store or InMemoryStore(clock=self._clock)
            parts.policies = create_policy_cache(parts.store.vectors, parts.embedder, self._clock)

    def _add_vault(self) -> None:
        if self._parts.vault is not None:
            return
        self._parts.vault = CredentialVault(self._settings.vault, self._environment)
        if not self._uses_defaults:
            self._problems += [
                f"Vault.{name}.Secret: the {each.secret.source_description} is missing"
                for name, each in self._settings.vault.items()
                if each.secret.variable is not None
            ]
