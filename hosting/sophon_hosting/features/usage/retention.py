"""Retention of usage, and of the sums that budgets are compared with."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon_hosting.retention import SweptStore

ACCOUNT_DAYS: Final = 62
"""Days that a budget's sums are kept: those of the present day and month are compared with the limits."""


async def delete_old_usage(swept: "SweptStore") -> Mapping[str, int]:
    """Delete old rows of usage, and the sums of budgets that no limit is compared with any more."""
    store, days = swept.store.usage, swept.settings.section(RetentionSettings).usage
    deleted = {} if days is None else {"usage": await store.expire(swept.before(days).date().isoformat())}
    return {**deleted, "accounts": await store.expire_accounts(swept.before(ACCOUNT_DAYS).date().isoformat())}
