"""Settings of Sophon: models, loading from files, environment and command line, JSON Schema. See docs/settings.md."""

from sophon.settings.danger_catalog import DangerousSetting, list_dangers, render_dangers_table
from sophon.settings.dangerous_settings import find_dangerous_settings, has_several_users
from sophon.settings.json_schema import settings_schema
from sophon.settings.loader import load_settings
from sophon.settings.markdown_table import render_settings_table
from sophon.settings.redacted_dump import redact_settings
from sophon.settings.root import Settings
from sophon.settings.sections.budget import (
    EVERY_PROVIDER,
    BudgetSettings,
    ProviderBudgetSettings,
    TurnBudgetSettings,
)
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
)
from sophon.settings.sections.permissions import PermissionsSettings
from sophon.settings.sections.providers import PriceSettings, ProviderSettings
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

__all__ = [
    "EVERY_PROVIDER",
    "AgentExecutionSettings",
    "ApprovalSettings",
    "BudgetSettings",
    "ChainSettings",
    "ChannelsSettings",
    "ContextWindowSettings",
    "DangerousSetting",
    "Duration",
    "GuardsSettings",
    "HubIssuerSettings",
    "HubSettings",
    "HubUserSettings",
    "LoggingSettings",
    "LoopDetectionSettings",
    "MemorySettings",
    "PermissionsSettings",
    "PlanningSettings",
    "PriceSettings",
    "ProviderBudgetSettings",
    "ProviderSettings",
    "QueueSettings",
    "RetentionSettings",
    "RiskSetting",
    "Secret",
    "SecretUrl",
    "Settings",
    "SkillsSettings",
    "StoreSettings",
    "TelegramSettings",
    "ToolFilterSettings",
    "ToolsSettings",
    "TurnBudgetSettings",
    "WhatsAppSettings",
    "find_dangerous_settings",
    "has_several_users",
    "list_dangers",
    "load_settings",
    "redact_settings",
    "render_dangers_table",
    "render_settings_table",
    "settings_schema",
]
