"""Limits on messages per minute: of all senders together, and of each sender."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from sophon.security.sliding_windows import RateExceeded, RateLimit, Reservation, round_up_seconds
from sophon.services import Services
from sophon.settings.sections.rate_limits import RateLimitSettings
from sophon.stores.rate_windows.contract import RateEvent
from sophon_hosting.queue.errors import TooManyMessages
from sophon_hosting.store.contract import host_store

CLIENT_CHANNELS = frozenset({"cli", "hub", "local"})
"""Channels of runs whose senders have a token or this machine; the others are chat platforms."""

MINUTE_SECONDS = 60.0
ALL_SENDERS = "messages"
"""Rule and scope of the messages of all senders."""


class MessageRateLimiter:
    """Counts the messages that a host accepts. Messages that arrive together are counted in their order."""

    def __init__(self, services: Services) -> None:
        self._services, self._store = services, host_store(services)
        self._lock = asyncio.Lock()  # first come, first served, also while a window is loaded

    async def reserve(self, owner: str, channel: str, sent_at: datetime | None = None) -> Reservation:
        """Reserve a message of a sender. Raises TooManyMessages, StoreError.

        A message that was sent more than a minute ago has waited on its platform, while the host was down, say. It is
        not counted: its sender may have kept the limit. The queue bounds how many of them are accepted.
        """
        limits = find_message_limits(self._services.settings.guards.rate_limit, owner, channel)
        now = self._services.clock.now()
        if not limits or (sent_at is not None and (now - sent_at).total_seconds() > MINUTE_SECONDS):
            return Reservation((), ())
        services = self._services
        async with self._lock:
            reserved = await services.security.rate_windows.reserve(
                limits, services.clock, self._store.rate_windows.load
            )
        if isinstance(reserved, RateExceeded):
            raise build_refusal(reserved)
        return reserved

    def build_events(self, reservation: Reservation) -> list[RateEvent]:
        """Return what is stored with the message."""
        if reservation.is_stored:
            return []
        return [RateEvent(limit.scope, self._services.clock.now()) for limit in reservation.limits]


def find_message_limits(settings: RateLimitSettings, owner: str, channel: str) -> Sequence[RateLimit]:
    """Return the limits of a message, that of all senders first. Those of clients and of channels are two."""
    if not settings.enabled:
        return ()
    is_client = channel in CLIENT_CHANNELS
    own = settings.client_messages_per_minute if is_client else settings.messages_per_minute
    limits: list[RateLimit] = []
    if settings.all_messages_per_minute is not None:
        limits.append(RateLimit(ALL_SENDERS, ALL_SENDERS, settings.all_messages_per_minute, MINUTE_SECONDS))
    if own is not None:
        scope = f"{'client' if is_client else 'sender'}/{owner}"
        limits.append(RateLimit("sender", scope, own, MINUTE_SECONDS))
    return limits


def build_refusal(exceeded: RateExceeded) -> TooManyMessages:
    """Return the error of a message beyond a limit."""
    seconds = exceeded.retry_after_seconds
    # Without a time, messages that are being stored fill the limit.
    retry_after = 1 if seconds is None else round_up_seconds(seconds)
    return TooManyMessages(exceeded.limit.count, retry_after, is_total=exceeded.limit.scope == ALL_SENDERS)
