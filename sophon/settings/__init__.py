"""Settings of Sophon: models, loading from files, environment and command line, JSON Schema. See docs/settings.md."""

from sophon.settings.agent import (
    AgentExecutionSettings,
    ApprovalSettings,
    ChainSettings,
    ContextWindowSettings,
    GuardsSettings,
    MemorySettings,
    PlanningSettings,
    RiskSetting,
    ToolFilterSettings,
    ToolsSettings,
)
from sophon.settings.host import (
    ChannelsSettings,
    HubSettings,
    HubUserSettings,
    LoggingSettings,
    QueueSettings,
    StoreSettings,
    TelegramSettings,
    WhatsAppSettings,
)
from sophon.settings.loading import load_settings
from sophon.settings.pages import settings_schema, redact_settings
from sophon.settings.providers import (
    BudgetSettings,
    PriceSettings,
    ProviderBudgetSettings,
    ProviderSettings,
    TurnBudgetSettings,
)
from sophon.settings.schema import Settings
from sophon.settings.secrets import Secret, SecretUrl
from sophon.settings.table import render_settings_table
from sophon.settings.values import Duration

__all__ = [
    "AgentExecutionSettings",
    "ApprovalSettings",
    "BudgetSettings",
    "ChainSettings",
    "ChannelsSettings",
    "ContextWindowSettings",
    "Duration",
    "GuardsSettings",
    "HubSettings",
    "HubUserSettings",
    "LoggingSettings",
    "MemorySettings",
    "PlanningSettings",
    "PriceSettings",
    "ProviderBudgetSettings",
    "ProviderSettings",
    "QueueSettings",
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
    "load_settings",
    "settings_schema",
    "render_settings_table",
    "redact_settings",
]
