"""Root settings model: everything below the key `Sophon`, and validation across sections."""

from collections.abc import Iterator, Mapping
from typing import Any

from sophon.errors import SettingsError
from sophon.security.authorization.permission_levels import Level
from sophon.settings.sections.agents import AgentsSettings
from sophon.settings.sections.attachments import AttachmentsSettings
from sophon.settings.sections.budget import EVERY_PROVIDER, BudgetSettings
from sophon.settings.sections.channels import ChannelsSettings
from sophon.settings.sections.custom_tools import CustomToolsSettings
from sophon.settings.sections.decisions import DecisionsSettings
from sophon.settings.sections.goals import GoalsSettings
from sophon.settings.sections.guards import GuardsSettings
from sophon.settings.sections.host import (
    HubSettings,
    LoggingSettings,
    QueueSettings,
    RetentionSettings,
    StoreSettings,
)
from sophon.settings.sections.learning import EmbeddingsSettings, LearningSettings, find_embedding_provider_id
from sophon.settings.sections.mcp import McpSettings
from sophon.settings.sections.permissions import PermissionsSettings
from sophon.settings.sections.providers import FailoverSettings, ProviderSettings
from sophon.settings.sections.replies import RepliesSettings
from sophon.settings.sections.routing import RoutingSettings, describe_unknown_tier
from sophon.settings.sections.schedules import SchedulesSettings
from sophon.settings.sections.skills import SkillsSettings
from sophon.settings.sections.traces import TelemetrySettings, TracesSettings
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
from sophon.settings.sections.webhooks import WebhooksSettings
from sophon.settings.sources.layers import normalize_keys
from sophon.settings.types.field_types import WebUrl
from sophon.settings.types.json_type_checks import SettingPath, describe_json_type, is_list, is_mapping
from sophon.settings.types.section import Field, SettingsSection
from sophon.settings.validation_errors import format_problem, problems_from_error, suggest_nearest


class Settings(SettingsSection):
    """Root of the settings; `Settings()` holds the defaults and reads no file and no environment."""

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
    goals: GoalsSettings = Field(
        default_factory=GoalsSettings.defaults, description="Plans that the host works on for hours or days."
    )
    skills: SkillsSettings = Field(
        default_factory=SkillsSettings.defaults, description="Folders with instructions and tools for tasks."
    )
    schedules: SchedulesSettings = Field(
        default_factory=SchedulesSettings.defaults, description="Tasks that the host starts at set times."
    )
    agents: AgentsSettings = Field(
        default_factory=AgentsSettings.defaults, description="Agents with prompts, tools and models of their own."
    )
    mcp: McpSettings = Field(
        default_factory=McpSettings.defaults, description="Servers of the Model Context Protocol, which offer tools."
    )
    embeddings: EmbeddingsSettings = Field(
        default_factory=EmbeddingsSettings.defaults, description="What turns texts into vectors."
    )
    learning: LearningSettings = Field(
        default_factory=LearningSettings.defaults, description="What is kept of finished turns to learn from."
    )
    queue: QueueSettings = Field(default_factory=QueueSettings.defaults, description="Task queue.")
    store: StoreSettings = Field(default_factory=StoreSettings.defaults, description="Database for all durable data.")
    retention: RetentionSettings = Field(
        default_factory=RetentionSettings.defaults, description="How many days stored data is kept; null: for ever."
    )
    traces: TracesSettings = Field(
        default_factory=TracesSettings.defaults, description="Traces of turns, which `sophon trace` shows."
    )
    telemetry: TelemetrySettings = Field(
        default_factory=TelemetrySettings.defaults, description="Export of traces and metrics with OpenTelemetry."
    )
    hub: HubSettings = Field(
        default_factory=HubSettings.defaults, description="Web server: chat page, HTTP API and Socket.IO."
    )
    logging: LoggingSettings = Field(default_factory=LoggingSettings.defaults, description="Logging of the host.")
    channels: ChannelsSettings = Field(
        default_factory=ChannelsSettings.defaults, description="Integrations with messaging platforms."
    )
    attachments: AttachmentsSettings = Field(
        default_factory=AttachmentsSettings.defaults, description="Files of messages."
    )
    public_url: WebUrl | None = Field(
        default=None,
        description="https URL at which platforms reach this host, such as `https://chat.example`: it registers its "
        "own webhooks there.",
    )
    webhooks: WebhooksSettings = Field(
        default_factory=WebhooksSettings.defaults, description="Signed requests in, and events out."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for credentials of the same header, permissions of no tier, and telemetry without traces."""
        for name, sentence in find_ambiguous_credentials(self.vault):
            yield "Vault", f"{name!r}: {sentence}"
        if self.telemetry.endpoint is not None and not self.traces.enabled:
            yield "Telemetry", "Endpoint needs Traces.Enabled: what is exported are the traces of turns"
        known = self.routing.tier_names()
        for path, tier in self.permissions.list_max_tiers():
            if tier not in known:
                yield f"Permissions.{path}.MaxTier", describe_unknown_tier(tier, known)

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
        settings, problems = validate_settings(values)
        if settings is None:
            raise SettingsError([format_problem(path, sentence) for path, sentence in problems])
        return settings


def redact_settings(settings: Settings) -> dict[str, Any]:
    """Return the effective settings as the mapping below `Sophon`; a secret is its reference, or `***` if plain."""
    return settings.model_dump(mode="json", by_alias=True)


def validate_settings(values: object) -> tuple[Settings | None, list[tuple[SettingPath, str]]]:
    """Return (settings, []), or None and all problems as (path, sentence)."""
    if not is_mapping(values):
        return None, [((), f"a mapping ({{...}}) is expected, not {describe_json_type(values)}")]
    if not values:
        return Settings.defaults(), []
    normalized = normalize_keys(Settings, values)
    problems = list(_find_cross_section_conflicts(normalized))
    settings = None
    try:
        settings = Settings.model_validate(normalized)
    except ValueError as error:
        from pydantic import ValidationError  # lazy: whoever gets here has loaded it

        if not isinstance(error, ValidationError):
            raise
        problems = [*problems_from_error(Settings, error), *problems]
    return (None, problems) if problems else (settings, [])


def _find_cross_section_conflicts(values: Mapping[str, Any]) -> Iterator[tuple[SettingPath, str]]:
    """Yield conflicts between sections; reads raw values, so that they are reported along with other errors."""
    providers = _collect_ids(values.get("Providers"))
    yield from _find_duplicate_ids(("Providers",), providers)
    yield from _find_duplicate_ids(("Hub", "Users"), _collect_ids(_get_value(values.get("Hub"), "Users")))
    yield from _find_duplicate_ids(("Mcp", "Servers"), _collect_ids(_get_value(values.get("Mcp"), "Servers")))
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


def _find_duplicate_ids(path: SettingPath, ids: Mapping[int, str]) -> Iterator[tuple[SettingPath, str]]:
    first: dict[str, int] = {}
    for index, each in ids.items():
        if first.setdefault(each, index) != index:
            yield (*path, index, "Id"), f"{each!r} is already the Id of number {first[each] + 1} in the list"
