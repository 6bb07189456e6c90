"""Rows of the usage that a turn hands over to the store."""

from datetime import datetime
from functools import lru_cache

from sophon.context.state import UnrecordedUsage
from sophon.stores.usage.contract import Period, UsageRow


def usage_rows(unrecorded: UnrecordedUsage, session_id: str, run_id: str, at: datetime) -> list[UsageRow]:
    """Return the rows that record the usage: one per day, model and purpose."""
    return [
        UsageRow(provider, model, purpose, session_id, run_id, counts.to_usage(), _period(day, month), at, counts.calls)
        for (day, month, provider, model, purpose), counts in unrecorded.items()
    ]


_period = lru_cache(maxsize=8)(Period)
"""The same object for all rows of a day."""
