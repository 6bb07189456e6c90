"""Exponential back-off between attempts to reach a platform."""

from datetime import timedelta

MAX_BACKOFF_SECONDS = 300


def backoff_delay(attempts: int) -> timedelta:
    """Return the delay after `attempts` (from 1) failed attempts: 1, 2, 4, ... seconds, at most 5 minutes. Pure."""
    return timedelta(seconds=min(2 ** max(min(attempts, 20) - 1, 0), MAX_BACKOFF_SECONDS))
