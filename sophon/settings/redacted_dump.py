"""The effective settings as plain data, with secrets redacted."""

from typing import Any

from sophon.settings.root import Settings


def redact_settings(settings: Settings) -> dict[str, Any]:
    """Return the effective settings as the mapping below `Sophon`; a secret is its reference, or `***` if plain."""
    return settings.model_dump(mode="json", by_alias=True)
