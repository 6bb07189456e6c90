"""Feature declaration: attachments of messages."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def _sweep(swept: "SweptStore") -> Mapping[str, int]:
    """Delete files that no message was sent with."""
    from sophon.stores.attachments.stored_attachment import KEEP_UNSENT  # lazy: only a host needs it

    return {"attachments": await swept.store.attachments.expire(swept.now - KEEP_UNSENT)}


FEATURE: Final = Feature(
    "attachments", page="attachments.md", operations=["sophon_hosting.features.attachments.operations"], sweep=_sweep
)
