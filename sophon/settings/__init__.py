"""Settings of Sophon: models, loading from files, environment and command line, JSON Schema. See docs/settings.md."""

from typing import TYPE_CHECKING

from sophon.lazy_names import lazy_names

if TYPE_CHECKING:
    from sophon.settings.danger_catalog import DangerousSetting, list_dangers, render_dangers_table
    from sophon.settings.dangerous_settings import find_dangerous_settings, has_several_users
    from sophon.settings.json_schema import settings_schema
    from sophon.settings.loader import load_settings
    from sophon.settings.markdown_table import render_settings_table
    from sophon.settings.redacted_dump import redact_settings
    from sophon.settings.root import Settings
    from sophon.settings.sections.attachments import AttachmentsSettings
    from sophon.settings.sections.budget import (
        EVERY_PROVIDER,
        BudgetSettings,
        ProviderBudgetSettings,
        TurnBudgetSettings,
    )
    from sophon.settings.sections.custom_tools import CustomToolsSettings
    from sophon.settings.sections.failover import FailoverSettings
    from sophon.settings.sections.goals import GoalBudgetSettings, GoalsSettings, ResourceLimitSettings
    from sophon.settings.sections.guards.section import GuardsSettings
    from sophon.settings.sections.host import (
        ChannelsSettings,
        HubIssuerSettings,
        HubSettings,
        HubUserSettings,
        LoggingSettings,
        QueueSettings,
        RetentionSettings,
        StoreSettings,
        TelegramSettings,
        WhatsAppSettings,
        WhatsAppTemplateSettings,
    )
    from sophon.settings.sections.learning import EmbeddingsSettings, LearningSettings
    from sophon.settings.sections.mcp import McpServerSettings, McpSettings
    from sophon.settings.sections.permissions import PermissionsSettings
    from sophon.settings.sections.providers import PriceSettings, ProviderSettings
    from sophon.settings.sections.routing import RoutingSettings, TierSettings
    from sophon.settings.sections.skills import SkillsSettings
    from sophon.settings.sections.turn import (
        AgentExecutionSettings,
        ApprovalSettings,
        ChainSettings,
        ContextWindowSettings,
        LoopDetectionSettings,
        MemorySettings,
        PlanningSettings,
        RiskSetting,
        ToolFilterSettings,
        ToolsSettings,
    )
    from sophon.settings.types.field_types import Duration
    from sophon.settings.types.secret_references import Secret, SecretUrl

_HOMES = {
    "AgentExecutionSettings": "sophon.settings.sections.turn",
    "ApprovalSettings": "sophon.settings.sections.turn",
    "AttachmentsSettings": "sophon.settings.sections.attachments",
    "BudgetSettings": "sophon.settings.sections.budget",
    "ChainSettings": "sophon.settings.sections.turn",
    "ChannelsSettings": "sophon.settings.sections.host",
    "ContextWindowSettings": "sophon.settings.sections.turn",
    "DangerousSetting": "sophon.settings.danger_catalog",
    "Duration": "sophon.settings.types.field_types",
    "EVERY_PROVIDER": "sophon.settings.sections.budget",
    "EmbeddingsSettings": "sophon.settings.sections.learning",
    "FailoverSettings": "sophon.settings.sections.failover",
    "LearningSettings": "sophon.settings.sections.learning",
    "GuardsSettings": "sophon.settings.sections.guards.section",
    "HubIssuerSettings": "sophon.settings.sections.host",
    "HubSettings": "sophon.settings.sections.host",
    "HubUserSettings": "sophon.settings.sections.host",
    "LoggingSettings": "sophon.settings.sections.host",
    "LoopDetectionSettings": "sophon.settings.sections.turn",
    "McpServerSettings": "sophon.settings.sections.mcp",
    "McpSettings": "sophon.settings.sections.mcp",
    "MemorySettings": "sophon.settings.sections.turn",
    "PermissionsSettings": "sophon.settings.sections.permissions",
    "PlanningSettings": "sophon.settings.sections.turn",
    "PriceSettings": "sophon.settings.sections.providers",
    "ProviderBudgetSettings": "sophon.settings.sections.budget",
    "ProviderSettings": "sophon.settings.sections.providers",
    "QueueSettings": "sophon.settings.sections.host",
    "RetentionSettings": "sophon.settings.sections.host",
    "RiskSetting": "sophon.settings.sections.turn",
    "RoutingSettings": "sophon.settings.sections.routing",
    "TierSettings": "sophon.settings.sections.routing",
    "Secret": "sophon.settings.types.secret_references",
    "SecretUrl": "sophon.settings.types.secret_references",
    "Settings": "sophon.settings.root",
    "CustomToolsSettings": "sophon.settings.sections.custom_tools",
    "GoalBudgetSettings": "sophon.settings.sections.goals",
    "GoalsSettings": "sophon.settings.sections.goals",
    "ResourceLimitSettings": "sophon.settings.sections.goals",
    "SkillsSettings": "sophon.settings.sections.skills",
    "StoreSettings": "sophon.settings.sections.host",
    "TelegramSettings": "sophon.settings.sections.host",
    "ToolFilterSettings": "sophon.settings.sections.turn",
    "ToolsSettings": "sophon.settings.sections.turn",
    "TurnBudgetSettings": "sophon.settings.sections.budget",
    "WhatsAppSettings": "sophon.settings.sections.host",
    "WhatsAppTemplateSettings": "sophon.settings.sections.host",
    "find_dangerous_settings": "sophon.settings.dangerous_settings",
    "has_several_users": "sophon.settings.dangerous_settings",
    "list_dangers": "sophon.settings.danger_catalog",
    "load_settings": "sophon.settings.loader",
    "redact_settings": "sophon.settings.redacted_dump",
    "render_dangers_table": "sophon.settings.danger_catalog",
    "render_settings_table": "sophon.settings.markdown_table",
    "settings_schema": "sophon.settings.json_schema",
}

__all__ = [
    "EVERY_PROVIDER",
    "AgentExecutionSettings",
    "ApprovalSettings",
    "AttachmentsSettings",
    "BudgetSettings",
    "ChainSettings",
    "ChannelsSettings",
    "ContextWindowSettings",
    "CustomToolsSettings",
    "DangerousSetting",
    "Duration",
    "EmbeddingsSettings",
    "FailoverSettings",
    "GoalBudgetSettings",
    "GoalsSettings",
    "GuardsSettings",
    "HubIssuerSettings",
    "HubSettings",
    "HubUserSettings",
    "LearningSettings",
    "LoggingSettings",
    "LoopDetectionSettings",
    "McpServerSettings",
    "McpSettings",
    "MemorySettings",
    "PermissionsSettings",
    "PlanningSettings",
    "PriceSettings",
    "ProviderBudgetSettings",
    "ProviderSettings",
    "QueueSettings",
    "ResourceLimitSettings",
    "RetentionSettings",
    "RiskSetting",
    "RoutingSettings",
    "Secret",
    "SecretUrl",
    "Settings",
    "SkillsSettings",
    "StoreSettings",
    "TelegramSettings",
    "TierSettings",
    "ToolFilterSettings",
    "ToolsSettings",
    "TurnBudgetSettings",
    "WhatsAppSettings",
    "WhatsAppTemplateSettings",
    "find_dangerous_settings",
    "has_several_users",
    "list_dangers",
    "load_settings",
    "redact_settings",
    "render_dangers_table",
    "render_settings_table",
    "settings_schema",
]

__getattr__ = lazy_names(__name__, _HOMES)
