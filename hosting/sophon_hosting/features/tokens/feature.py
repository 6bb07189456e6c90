"""Feature declaration: API tokens."""

from typing import Final

from sophon_hosting.features.feature import Feature
from sophon_hosting.features.tokens.retention import delete_ended_tokens

FEATURE: Final = Feature(
    "tokens",
    page="trust-model.md#api-tokens",
    operations=["sophon_hosting.features.tokens.operations"],
    sweep=delete_ended_tokens,
)
