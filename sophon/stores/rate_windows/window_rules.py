"""Rule of a full window, which every store of rate windows shares: pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sophon.security.sliding_windows import RateExceeded, RateLimit


def find_window_start(limit: RateLimit, now: datetime) -> datetime:
    """Return the time after which events count."""
    start = now - timedelta(seconds=limit.seconds)
    return start if limit.since is None else max(start, limit.since)


def check_window(limit: RateLimit, newest: Sequence[datetime], now: datetime) -> RateExceeded | None:
    """Return None if there is room; `newest` are the newest times of the scope, at most `limit.count` of them.

    A time after the present one comes from a clock that was ahead; it counts.
    """
    start = find_window_start(limit, now)
    counted = sorted(at for at in newest if at > start)
    if len(counted) < limit.count:
        return None
    if limit.since is not None or not counted:
        return RateExceeded(limit, None)
    remaining = (counted[0] - now).total_seconds() + limit.seconds
    return RateExceeded(limit, min(max(remaining, 0.0), limit.seconds))
