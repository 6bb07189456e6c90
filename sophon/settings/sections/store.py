"""Settings of the store."""

from sophon.settings.types.secret_references import SecretUrl
from sophon.settings.types.section import Field, SettingsSection


class StoreSettings(SettingsSection):
    """Database for all durable data."""

    url: SecretUrl = Field(
        default=SecretUrl("sqlite:///data/sophon.db"), description="URL of the database: SQLite or PostgreSQL."
    )
