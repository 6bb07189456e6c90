"""Retention of attachments: files that no message was sent with."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore


async def delete_unsent_files(swept: "SweptStore") -> Mapping[str, int]:
    """Delete files that no message was sent with."""
    from sophon.stores.attachments.stored_attachment import KEEP_UNSENT  # lazy: only a host needs it

    return {"attachments": await swept.store.attachments.expire(swept.now - KEEP_UNSENT)}
