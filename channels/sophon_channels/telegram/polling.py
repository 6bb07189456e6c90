"""Long polling: updates are fetched, kept, and only then confirmed."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon_channels.contract import Health
from sophon_channels.fields import Fields
from sophon_channels.telegram.client import Client
from sophon_channels.telegram.failures import Failure, backoff
from sophon_channels.telegram.parse import update_id

log = logging.getLogger("sophon")

Take: TypeAlias = Callable[[Sequence[Fields]], Awaitable[None]]
"""Keeps updates, or raises StoreError."""

WATCHDOG_SECONDS = 120.0
CONFLICT_SECONDS = 30.0
SHORTEST_POLL_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0

CONFLICT = "another program fetches this bot's updates, or a webhook is set; stop one of the two"


class Poller:
    """Fetches without end; ends only when the token is refused.

    The offset is sent until a poll with it has succeeded, and then forgotten: Telegram has confirmed by then, and after
    a week of silence its numbers go on from a random one, which may be below.
    """

    def __init__(self, client: Client, clock: Clock, health: Health, take: Take) -> None:
        self._client, self._clock, self._health, self._take = client, clock, health, take
        self._offset: int | None = None
        self._failures = 0

    async def run(self) -> None:
        """Poll until the token is refused."""
        while self._health.state != "refused":
            begun = self._clock.monotonic()
            pause = await self._poll()
            if pause is None and self._clock.monotonic() - begun < SHORTEST_POLL_SECONDS and self._offset is None:
                pause = SHORTEST_POLL_SECONDS  # a server that answers at once, with nothing
            if pause is not None:
                await self._clock.sleep(pause)

    async def _poll(self) -> float | None:
        """One poll; the pause after it in seconds, None for no pause."""
        try:
            async with self._clock.timeout(WATCHDOG_SECONDS):
                updates = await self._client.updates(self._offset)
        except TimeoutError:  # its connection went with it
            return self._failing(f"a poll hung for {WATCHDOG_SECONDS:.0f} s; polling begins anew")
        except Failure as failure:
            return self._failed(failure)
        try:
            await self._take(updates)
        except StoreError as error:
            return self._failing(str(error))
        self._offset = confirmed(updates)
        self._failures = 0
        self._health.state, self._health.detail = "running", ""
        return None

    def _failed(self, failure: Failure) -> float:
        if failure.refuses_token:
            self._health.state, self._health.detail = "refused", str(failure)
            log.error("Telegram refuses the bot's token, and nothing more is fetched: %s", failure)
            return 0
        if failure.status == 409:
            self._failing(f"{CONFLICT} ({failure})")
            return CONFLICT_SECONDS
        return max(self._failing(str(failure)), failure.retry_after or 0)

    def _failing(self, detail: str) -> float:
        """Longer after each failure in a row; told once as long as it is the same."""
        if (self._health.state, self._health.detail) != ("failing", detail):
            log.warning("Telegram: %s", detail)
        self._health.state, self._health.detail = "failing", detail
        self._failures += 1
        pause = min(backoff(self._failures).total_seconds(), LONGEST_PAUSE_SECONDS)
        return pause * (0.75 + self._clock.random() / 2)


def confirmed(updates: Sequence[Fields]) -> int | None:
    """The offset that confirms these updates; None if there is nothing to confirm. Pure."""
    numbers = [number for update in updates if (number := update_id(update)) is not None]
    return max(numbers) + 1 if numbers else None
