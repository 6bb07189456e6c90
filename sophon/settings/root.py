"""Root settings model: what stands below the key `Sophon`, with the sections of the host and of other distributions."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, cast

from sophon.errors import SettingsError
from sophon.security.authorization.permission_levels import Level
from sophon.settings.installed_sections import load_installed_sections
from sophon.settings.sections.agents import AgentsSettings
from sophon.settings.sections.attachments import AttachmentsSettings
from sophon.settings.sections.budget import EVERY_PROVIDER, BudgetSettings
from sophon.settings.sections.custom_tools import CustomToolsSettings
from sophon.settings.sections.decisions import DecisionsSettings
from sophon.settings.sections.guards import GuardsSettings
from sophon.settings.sections.learning import EmbeddingsSettings, LearningSettings, find_embedding_provider_id
from sophon.settings.sections.permissions import PermissionsSettings
from sophon.settings.sections.providers import FailoverSettings, ProviderSettings
from sophon.settings.sections.replies import RepliesSettings
from sophon.settings.sections.routing import RoutingSettings, describe_unknown_tier
from sophon.settings.sections.skills import SkillsSettings
from sophon.settings.sections.store import StoreSettings
from sophon.settings.sections.traces import TracesSettings
from sophon.settings.sections.turn import (
    AgentExecutionSettings,
    ApprovalSettings,
    ChainSettings,
    ContextWindowSettings,
    MemorySettings,
    PlanningSettings,
    PreferencesSettings,
    ToolFilterSettings,
    ToolsSettings,
)
from sophon.settings.sections.vault import CredentialSettings, find_ambiguous_credentials
from sophon.settings.sources.layers import normalize_keys
from sophon.settings.types.field_types import WebUrl
from sophon.settings.types.introspection import (
    FieldType,
    get_field_types,
    get_item_type,
    get_section_type,
    normalize_key,
)
from sophon.settings.types.json_type_checks import SettingPath, describe_json_type, is_list, is_mapping
from sophon.settings.types.section import Field, SectionType, SettingsSection
from sophon.settings.validation_errors import format_problem, problems_from_error, suggest_nearest

Section = TypeVar("Section", bound="RootSection")


class RootSection(SettingsSection):
    """Section directly below `Sophon` that the framework does not know: one of the host, a feature or another package.

    `key` is its JSON key, `description` what the documentation says of it. What the framework must know of such a
    section it asks by the methods of this class.
    """

    root_key: ClassVar[str]
    """JSON key below `Sophon`."""

    root_name: ClassVar[str]
    """The same in the spelling of Python."""

    root_description: ClassVar[str]

    def __init_subclass__(cls, *, key: str, description: str) -> None:
        cls.root_key, cls.root_description = key, description
        cls.root_name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
        super().__init_subclass__()

    def find_root_conflicts(self, settings: "Settings") -> Iterator[str]:
        """Yield a sentence for every conflict of this section with the other settings."""
        yield from ()

    def has_several_users(self) -> bool:
        """Return whether more than one person may write, or others than the one user of a host without users."""
        return False

    def list_tool_prefixes(self) -> Iterator[tuple[str, str]]:
        """Yield the first parts of the names of tools that are registered later, behind their paths in the section."""
        yield from ()

    def limit_unattended_agents(self) -> int | None:
        """Return how many agents may work for one person while nobody waits for them; None without a limit."""
        return None


class Settings(SettingsSection):
    """Root of the settings of a chain; `Settings()` holds the defaults and reads no file and no environment.

    Those that are loaded have the sections of the host and of other distributions too; `section` returns one of them.
    """

    agent_execution: AgentExecutionSettings = Field(
        default_factory=AgentExecutionSettings.defaults, description="Limits on the execution of one turn."
    )
    providers: tuple[ProviderSettings, ...] = Field(
        default=(),
        description="Providers of models; without any they are discovered: API keys, Ollama, else the offline model.",
    )
    failover: FailoverSettings = Field(default_factory=FailoverSettings.defaults, description="Retries of model calls.")
    budget: BudgetSettings = Field(default_factory=BudgetSettings.defaults, description="Budgets for tokens and cost.")
    context_window: ContextWindowSettings = Field(
        default_factory=ContextWindowSettings.defaults,
        description="Compaction of the conversation to the context window.",
    )
    tool_filter: ToolFilterSettings = Field(
        default_factory=ToolFilterSettings.defaults, description="Number of tools offered to a model."
    )
    planning: PlanningSettings = Field(
        default_factory=PlanningSettings.defaults,
        description="When a request is planned, and how the steps of the plan run.",
    )
    decisions: DecisionsSettings = Field(
        default_factory=DecisionsSettings.defaults, description="What rules decide before a model is asked."
    )
    replies: RepliesSettings = Field(
        default_factory=RepliesSettings.defaults, description="What rules check and add to a reply."
    )
    approval: ApprovalSettings = Field(
        default_factory=ApprovalSettings.defaults, description="When a tool call needs approval."
    )
    chain: ChainSettings = Field(default_factory=ChainSettings.defaults, description="The middleware chain of a turn.")
    tools: ToolsSettings = Field(
        default_factory=ToolsSettings.defaults, description="Available tools and their limits."
    )
    guards: GuardsSettings = Field(default_factory=GuardsSettings.defaults, description="Guards around tool calls.")
    permissions: PermissionsSettings = Field(
        default_factory=PermissionsSettings.defaults, description="Permission levels of people."
    )
    routing: RoutingSettings = Field(
        default_factory=RoutingSettings.defaults, description="Which models a turn asks, in which order."
    )
    vault: dict[str, CredentialSettings] = Field(
        default={},
        description="Credentials that http.request and http.send attach, by a name of your choice.",
    )
    memory: MemorySettings = Field(default_factory=MemorySettings.defaults, description="Long-term memory.")
    preferences: PreferencesSettings = Field(
        default_factory=PreferencesSettings.defaults, description="How people want to be answered."
    )
    custom_tools: CustomToolsSettings = Field(
        default_factory=CustomToolsSettings.defaults, description="Tools that users have made while the host runs."
    )
    skills: SkillsSettings = Field(
        default_factory=SkillsSettings.defaults, description="Folders with instructions and tools for tasks."
    )
    agents: AgentsSettings = Field(
        default_factory=AgentsSettings.defaults, description="Agents with prompts, tools and models of their own."
    )
    embeddings: EmbeddingsSettings = Field(
        default_factory=EmbeddingsSettings.defaults, description="What turns texts into vectors."
    )
    learning: LearningSettings = Field(
        default_factory=LearningSettings.defaults, description="What is kept of finished turns to learn from."
    )
    store: StoreSettings = Field(default_factory=StoreSettings.defaults, description="Database for all durable data.")
    traces: TracesSettings = Field(
        default_factory=TracesSettings.defaults, description="Traces of turns, which `sophon trace` shows."
    )
    attachments: AttachmentsSettings = Field(
        default_factory=AttachmentsSettings.defaults, description="Files of messages."
    )
    public_url: WebUrl | None = Field(
        default=None,
        description="https URL at which platforms reach this host, such as `https://chat.example`: it registers its "
        "own webhooks there.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for credentials of the same header, permissions of no tier, and those of other sections."""
        for name, sentence in find_ambiguous_credentials(self.vault):
            yield "Vault", f"{name!r}: {sentence}"
        known = self.routing.tier_names()
        for path, tier in self.permissions.list_max_tiers():
            if tier not in known:
                yield f"Permissions.{path}.MaxTier", describe_unknown_tier(tier, known)
        for section in self.list_root_sections():
            for sentence in section.find_root_conflicts(self):
                yield section.root_key, sentence

    def section(self, kind: type[Section]) -> Section:
        """Return a section of the host, a feature or another distribution; its defaults if these settings have none."""
        found = vars(self).get(kind.root_name)
        return found if isinstance(found, kind) else _make_section(kind)

    def list_root_sections(self) -> list[RootSection]:
        """Return the sections of the host, the features and other distributions that these settings have."""
        return [each for each in vars(self).values() if isinstance(each, RootSection)]

    def with_all_sections(self) -> "Settings":
        """Return these settings with the defaults of all installed sections that they lack. Raises SettingsError."""
        kind = load_settings_type()
        if isinstance(self, kind):
            return self
        completed = object.__new__(kind)
        vars(completed).update({**vars(kind.defaults()), **vars(self)})
        return completed

    def has_several_users(self) -> bool:
        """Return whether others than one user may write: two users, or a channel of the settings."""
        return any(each.has_several_users() for each in self.list_root_sections())

    def list_tool_prefixes(self) -> Iterator[tuple[str, str]]:
        """Yield the first parts of the names of tools that are registered later, behind their paths below `Sophon`."""
        for section in self.list_root_sections():
            yield from ((f"{section.root_key}.{path}", prefix) for path, prefix in section.list_tool_prefixes())

    def limit_unattended_agents(self) -> int | None:
        """Return how many agents may work for one person while nobody waits for them; None without a limit."""
        limits = (each.limit_unattended_agents() for each in self.list_root_sections())
        return min((each for each in limits if each is not None), default=None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Settings):
            return NotImplemented
        own = all(getattr(self, name) == getattr(other, name) for name in Settings.model_fields)
        kinds = {type(each) for each in (*self.list_root_sections(), *other.list_root_sections())}
        return own and all(self.section(kind) == other.section(kind) for kind in kinds)

    __hash__ = SettingsSection.__hash__

    def derive_values(self) -> Mapping[str, object]:
        """Return the guards with Authorization enabled if levels or rules deny something, unless it was set."""
        guard = self.guards.authorization
        if guard.enabled is not None or not (guard.rules or self.permissions.restricts_tools):
            return {}
        return {"guards": self.guards.model_copy(update={"authorization": guard.model_copy(update={"enabled": True})})}

    def list_cost_limits(self) -> Iterator[tuple[str, float]]:
        """Yield the path and the USD of each cost limit of persons, those that a level has by default included."""
        yield from self.permissions.list_cost_limits()
        if self.routing.uses_tiers:
            for level in Level:
                found = self.permissions.routing_of("", level, uses_tiers=True)
                for name, cost in (("DailyCost", found.daily_cost), ("MonthlyCost", found.monthly_cost)):
                    if cost is not None:
                        yield f"Permissions.Levels.{level.label}.{name}", cost

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "Settings":
        """Build settings from `values`, the dict below `Sophon`, with defaults for the rest.

        Raises SettingsError with one line per problem, including conflicts between sections, which
        `model_validate` does not check.
        """
        chain = get_field_types(Settings)
        # The sections of others are not loaded for values that have none of them.
        knows_all = is_mapping(values) and all(normalize_key(Settings, str(key)) in chain for key in values)
        settings, problems = validate_settings(values, Settings if knows_all else None)
        if settings is None:
            raise SettingsError([format_problem(path, sentence) for path, sentence in problems])
        return settings


@cache
def load_settings_type() -> type[Settings]:
    """Return the settings with the sections of the host and of all installed distributions.

    Raises SettingsError for two sections with one key, and for one that cannot be loaded.
    """
    sections: dict[str, type[RootSection]] = {}
    for section in load_installed_sections(RootSection):
        key, name = section.root_key, section.root_name
        if name in Settings.model_fields or hasattr(Settings, name):
            raise SettingsError([f"{_full_name(section)}: a chain has settings {key!r} already"])
        other = sections.setdefault(name, section)
        if other is not section:
            names = f"{_full_name(other)} and {_full_name(section)}"
            raise SettingsError([f"two sections of settings have the key {key!r}: {names}"])
    fields = {
        name: Field(default_factory=each.defaults, description=each.root_description, alias=each.root_key)
        for name, each in sections.items()
    }
    namespace = {"__module__": __name__, "__doc__": "Everything below the key `Sophon`.", "__annotations__": sections}
    return cast("type[Settings]", SectionType(Settings.__name__, (Settings,), {**namespace, **fields}))


def _full_name(section: type[SettingsSection]) -> str:
    return f"{section.__module__}.{section.__qualname__}"


@cache
def _make_section(kind: type[Section]) -> Section:
    return kind.defaults()


def redact_settings(settings: Settings) -> dict[str, Any]:
    """Return the effective settings as the mapping below `Sophon`, with the sections of all that is installed.

    A secret is its reference, or `***` if plain.
    """
    return settings.with_all_sections().model_dump(mode="json", by_alias=True)


def validate_settings(
    values: object, root: type[Settings] | None = None
) -> tuple[Settings | None, list[tuple[SettingPath, str]]]:
    """Return (settings, []), or None and all problems as (path, sentence); `root` has all sections by default."""
    if not is_mapping(values):
        return None, [((), f"a mapping ({{...}}) is expected, not {describe_json_type(values)}")]
    root = root or load_settings_type()
    if not values:
        return root.defaults(), []
    normalized = normalize_keys(root, values)
    problems = list(_find_raw_conflicts(root, normalized))
    settings = None
    try:
        settings = root.model_validate(normalized)
    except ValueError as error:
        from pydantic import ValidationError  # lazy: whoever gets here has loaded it

        if not isinstance(error, ValidationError):
            raise
        problems = [*problems_from_error(root, error), *problems]
    return (None, problems) if problems else (settings, [])


def _find_raw_conflicts(root: type[Settings], values: Mapping[str, Any]) -> Iterator[tuple[SettingPath, str]]:
    """Yield conflicts that are reported along with other errors, and therefore found in raw values."""
    yield from _find_duplicate_ids(root, values, ())
    providers = _collect_ids(values.get("Providers"))
    limits, embeddings = _get_value(values.get("Budget"), "Providers"), values.get("Embeddings")
    embedding = find_embedding_provider_id(_get_value(embeddings, "Provider"), _get_value(embeddings, "Model"))
    known = {EVERY_PROVIDER, embedding, *providers.values()}
    for key in limits if is_mapping(limits) and providers else ():
        if key not in known:
            near_id = suggest_nearest(str(key), providers.values())
            yield ("Budget", "Providers", key), f"there is no provider with this Id{near_id}"


def _get_value(values: object, key: str) -> object:
    return values.get(key) if is_mapping(values) else None


def _collect_ids(items: object) -> dict[int, str]:
    """Return the Ids in a list of mappings, by list index."""
    found = ((index, _get_value(item, "Id")) for index, item in enumerate(items if is_list(items) else ()))
    return {index: each for index, each in found if isinstance(each, str)}


def _find_duplicate_ids(field_type: FieldType, value: object, path: SettingPath) -> Iterator[tuple[SettingPath, str]]:
    """Yield a conflict for each Id that an item of a list has and one before it has too."""
    section, item = get_section_type(field_type), get_section_type(get_item_type(field_type))
    if section is not None and is_mapping(value):
        for key, below in get_field_types(section).items():
            yield from _find_duplicate_ids(below, value.get(key), (*path, key))
    elif item is not None and "Id" in get_field_types(item):
        first: dict[str, int] = {}
        for index, each in _collect_ids(value).items():
            if first.setdefault(each, index) != index:
                yield (*path, index, "Id"), f"{each!r} is already the Id of number {first[each] + 1} in the list"
