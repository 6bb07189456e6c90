"""Feature declaration: API tokens."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete API tokens that are no longer accepted, some time after."""
    from sophon_hosting.retention import INTERNAL_DAYS  # lazy: only a host needs it

    return {"api_tokens": await swept.store.api_tokens.expire(swept.before(INTERNAL_DAYS))}


FEATURE: Final = Feature(
    "tokens", page="trust-model.md#api-tokens", operations=["sophon_hosting.features.tokens.operations"], sweep=_sweep
)
