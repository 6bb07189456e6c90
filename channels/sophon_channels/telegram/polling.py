"""Long polling: fetch updates, store them, and confirm them only afterwards."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon_channels.backoff import backoff_delay
from sophon_channels.contract import ChannelHealth
from sophon_channels.json_fields import JsonObject
from sophon_channels.telegram.api.client import TelegramClient
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.telegram.parsing import get_update_id

log = logging.getLogger("sophon")

UpdateHandler: TypeAlias = Callable[[Sequence[JsonObject]], Awaitable[None]]
"""Stores updates; raises StoreError if that fails."""

POLL_WATCHDOG_SECONDS = 120.0
"""A poll that takes longer is cancelled together with its connection."""
CONFLICT_RETRY_SECONDS = 30.0
"""Delay after a 409, which means that another program polls for the same bot."""
MIN_POLL_SECONDS = 1.0
"""Minimum time between two polls if the server answers at once without updates."""
MAX_RETRY_SECONDS = 60.0
"""Maximum delay after failed polls."""
MAX_DEMANDED_SECONDS = 300.0
"""Maximum delay that is taken from Telegram's answer; then it is asked again."""

CONFLICT_MESSAGE = "another program polls for this bot's updates, or a webhook is set; stop one of the two"


class UpdatePoller:
    """Long-polling loop, which ends only if the token is rejected.

    The offset is sent until a poll with it succeeds, and dropped then: Telegram has confirmed the updates, and after a
    week without updates it continues from a random number, which may be lower.
    """

    def __init__(
        self, client: TelegramClient, clock: Clock, health: ChannelHealth, handle_updates: UpdateHandler
    ) -> None:
        self._client, self._clock, self._health, self._handle_updates = client, clock, health, handle_updates
        self._offset: int | None = None
        self._failures = 0

    async def run(self) -> None:
        """Poll until the token is refused."""
        while self._health.state != "refused":
            started_at = self._clock.monotonic()
            delay = await self._poll()
            if delay is None and self._clock.monotonic() - started_at < MIN_POLL_SECONDS and self._offset is None:
                delay = MIN_POLL_SECONDS  # the server answered at once, without updates
            if delay is not None:
                await self._clock.sleep(delay)

    async def _poll(self) -> float | None:
        """Poll once; return the delay in seconds before the next poll, None for no delay."""
        try:
            async with self._clock.timeout(POLL_WATCHDOG_SECONDS):
                updates = await self._client.get_updates(self._offset)
        except TimeoutError:  # the connection is closed too
            return self._record_failure(f"a poll did not end within {POLL_WATCHDOG_SECONDS:.0f} s; polling restarts")
        except TelegramApiError as api_error:
            return self._handle_error(api_error)
        try:
            await self._handle_updates(updates)
        except StoreError as error:
            return self._record_failure(str(error))
        self._offset = next_offset(updates)
        self._failures = 0
        if self._health.state != "running":  # the detail of a running channel is the sender's
            self._health.state, self._health.detail = "running", ""
        return None

    def _handle_error(self, error: TelegramApiError) -> float:
        if error.is_token_error:
            self._health.state, self._health.detail = "refused", str(error)
            self._health.is_credential_rejected = True
            log.error("Telegram rejects the bot token; polling stops: %s", error)
            return 0
        if error.status == 409:
            self._record_failure(f"{CONFLICT_MESSAGE} ({error})")
            return CONFLICT_RETRY_SECONDS
        return max(self._record_failure(str(error)), min(error.retry_after or 0, MAX_DEMANDED_SECONDS))

    def _record_failure(self, detail: str) -> float:
        """Record a failure; return the delay, which grows with each failure in a row. Repeated ones are not logged."""
        if (self._health.state, self._health.detail) != ("failing", detail):
            log.warning("Telegram: %s", detail)
        self._health.state, self._health.detail = "failing", detail
        self._failures += 1
        delay = min(backoff_delay(self._failures).total_seconds(), MAX_RETRY_SECONDS)
        return delay * (0.75 + self._clock.random() / 2)


def next_offset(updates: Sequence[JsonObject]) -> int | None:
    """Return the offset that confirms these updates; None if there are none. Pure."""
    numbers = [number for update in updates if (number := get_update_id(update)) is not None]
    return max(numbers) + 1 if numbers else None
