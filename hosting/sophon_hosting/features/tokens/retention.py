"""Retention of API tokens: some time after they are no longer accepted."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_ended_tokens(swept: "SweptStore") -> Mapping[str, int]:
    """Delete API tokens that are no longer accepted, some time after."""
    from sophon_hosting.retention import INTERNAL_DAYS  # lazy: only a host needs it

    return {"api_tokens": await swept.store.api_tokens.expire(swept.before(INTERNAL_DAYS))}
