"""Retention of the audit log, and of the times of rate-limited events."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from sophon_hosting.settings.retention import RetentionSettings

if TYPE_CHECKING:
    from sophon.settings import Settings
    from sophon_hosting.retention import SweptStore


async def delete_old_guard_data(swept: "SweptStore") -> Mapping[str, int]:
    """Delete the times of rate-limited events that no window needs, and old entries of the audit log."""
    deleted = {"rate_events": await swept.store.rate_windows.expire(swept.now - find_longest_window(swept.settings))}
    if (days := swept.settings.section(RetentionSettings).audit) is not None:
        deleted["audit_entries"] = await swept.store.audit.expire(swept.before(days))
    return deleted


def find_longest_window(settings: "Settings") -> timedelta:
    """Return for how long the times of rate-limited events are needed: a day at least, for the budget of evaluations.

    A chain may have an evaluator that the settings of the host do not show.
    """
    from sophon.local_day import LONGEST_DAY_SECONDS  # lazy: only a sweep needs it

    return max(settings.guards.rate_limit.find_longest_period(), timedelta(seconds=LONGEST_DAY_SECONDS))
