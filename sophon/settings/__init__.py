"""Settings of Sophon: models, loading from files, environment and command line, JSON Schema. See docs/settings.md."""

from typing import TYPE_CHECKING

from sophon._python.lazy_names import lazy_names

if TYPE_CHECKING:
    from sophon.settings.danger_catalog import DangerousSetting, list_dangers, render_dangers_table
    from sophon.settings.dangerous_settings import find_dangerous_settings, has_several_users
    from sophon.settings.json_schema import settings_schema
    from sophon.settings.loader import load_settings
    from sophon.settings.markdown_table import render_settings_table
    from sophon.settings.root import RootSection, Settings, redact_settings
    from sophon.settings.sections.attachments import AttachmentsSettings
    from sophon.settings.sections.budget import (
        EVERY_PROVIDER,
        BudgetSettings,
        ProviderBudgetSettings,
    )
    from sophon.settings.sections.channels import TelegramSettings, WhatsAppSettings, WhatsAppTemplateSettings
    from sophon.settings.sections.guards import GuardsSettings
    from sophon.settings.sections.host import (
        HubIssuerSettings,
        HubSettings,
        HubUserSettings,
        QueueSettings,
    )
    from sophon.settings.sections.learning import EmbeddingsSettings, LearningSettings
    from sophon.settings.sections.providers import ProviderSettings
    from sophon.settings.sections.routing import RoutingSettings
    from sophon.settings.sections.turn import (
        ApprovalSettings,
        ContextWindowSettings,
    )
    from sophon.settings.types.secret_references import Secret, SecretUrl

_HOMES = {
    "ApprovalSettings": "sophon.settings.sections.turn",
    "AttachmentsSettings": "sophon.settings.sections.attachments",
    "BudgetSettings": "sophon.settings.sections.budget",
    "ContextWindowSettings": "sophon.settings.sections.turn",
    "DangerousSetting": "sophon.settings.danger_catalog",
    "EVERY_PROVIDER": "sophon.settings.sections.budget",
    "EmbeddingsSettings": "sophon.settings.sections.learning",
    "LearningSettings": "sophon.settings.sections.learning",
    "GuardsSettings": "sophon.settings.sections.guards",
    "HubIssuerSettings": "sophon.settings.sections.host",
    "HubSettings": "sophon.settings.sections.host",
    "HubUserSettings": "sophon.settings.sections.host",
    "ProviderBudgetSettings": "sophon.settings.sections.budget",
    "ProviderSettings": "sophon.settings.sections.providers",
    "QueueSettings": "sophon.settings.sections.host",
    "RootSection": "sophon.settings.root",
    "RoutingSettings": "sophon.settings.sections.routing",
    "Secret": "sophon.settings.types.secret_references",
    "SecretUrl": "sophon.settings.types.secret_references",
    "Settings": "sophon.settings.root",
    "TelegramSettings": "sophon.settings.sections.channels",
    "WhatsAppSettings": "sophon.settings.sections.channels",
    "WhatsAppTemplateSettings": "sophon.settings.sections.channels",
    "find_dangerous_settings": "sophon.settings.dangerous_settings",
    "has_several_users": "sophon.settings.dangerous_settings",
    "list_dangers": "sophon.settings.danger_catalog",
    "load_settings": "sophon.settings.loader",
    "redact_settings": "sophon.settings.root",
    "render_dangers_table": "sophon.settings.danger_catalog",
    "render_settings_table": "sophon.settings.markdown_table",
    "settings_schema": "sophon.settings.json_schema",
}

__all__ = [
    "EVERY_PROVIDER",
    "ApprovalSettings",
    "AttachmentsSettings",
    "BudgetSettings",
    "ContextWindowSettings",
    "DangerousSetting",
    "EmbeddingsSettings",
    "GuardsSettings",
    "HubIssuerSettings",
    "HubSettings",
    "HubUserSettings",
    "LearningSettings",
    "ProviderBudgetSettings",
    "ProviderSettings",
    "QueueSettings",
    "RootSection",
    "RoutingSettings",
    "Secret",
    "SecretUrl",
    "Settings",
    "TelegramSettings",
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
