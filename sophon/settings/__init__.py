"""Settings of Sophon: models, loading from files, environment and command line, JSON Schema. See docs/settings.md."""

from sophon.settings.dangerous_settings import DangerousSetting, find_dangerous_settings, has_several_users
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
from sophon.settings.sections.host import (
    ChannelsSettings,
    HubSettings,
    HubUserSettings,
    LoggingSettings,
    QueueSettings,
    RetentionSettings,
    StoreSettings,
    TelegramSettings,
    WhatsAppSettings,
)
from sophon.settings.sections.providers import PriceSettings, ProviderSettings
from sophon.settings.sections.turn import (
    AgentExecutionSettings,
    ApprovalSettings,
    ChainSettings,
    ContextWindowSettings,
    GuardsSettings,
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
    "HubSettings",
    "HubUserSettings",
    "LoggingSettings",
    "LoopDetectionSettings",
    "MemorySettings",
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
    "StoreSettings",
    "TelegramSettings",
    "ToolFilterSettings",
    "ToolsSettings",
    "TurnBudgetSettings",
    "WhatsAppSettings",
    "find_dangerous_settings",
    "has_several_users",
    "load_settings",
    "redact_settings",
    "render_settings_table",
    "settings_schema",
]
