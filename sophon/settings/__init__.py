"""Settings of Sophon: models, loading from files, environment and command line, JSON Schema. See docs/settings.md."""

from typing import TYPE_CHECKING

from sophon._python.lazy_names import lazy_names

if TYPE_CHECKING:
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
    from sophon.settings.sections.guards import GuardsSettings
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
    "EVERY_PROVIDER": "sophon.settings.sections.budget",
    "EmbeddingsSettings": "sophon.settings.sections.learning",
    "LearningSettings": "sophon.settings.sections.learning",
    "GuardsSettings": "sophon.settings.sections.guards",
    "ProviderBudgetSettings": "sophon.settings.sections.budget",
    "ProviderSettings": "sophon.settings.sections.providers",
    "RootSection": "sophon.settings.root",
    "RoutingSettings": "sophon.settings.sections.routing",
    "Secret": "sophon.settings.types.secret_references",
    "SecretUrl": "sophon.settings.types.secret_references",
    "Settings": "sophon.settings.root",
    "load_settings": "sophon.settings.loader",
    "redact_settings": "sophon.settings.root",
    "render_settings_table": "sophon.settings.markdown_table",
    "settings_schema": "sophon.settings.json_schema",
}

__all__ = [
    "EVERY_PROVIDER",
    "ApprovalSettings",
    "AttachmentsSettings",
    "BudgetSettings",
    "ContextWindowSettings",
    "EmbeddingsSettings",
    "GuardsSettings",
    "LearningSettings",
    "ProviderBudgetSettings",
    "ProviderSettings",
    "RootSection",
    "RoutingSettings",
    "Secret",
    "SecretUrl",
    "Settings",
    "load_settings",
    "redact_settings",
    "render_settings_table",
    "settings_schema",
]

__getattr__ = lazy_names(__name__, _HOMES)
