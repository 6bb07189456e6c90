"""Acknowledgement of button presses in the background, so that a slow platform does not delay the next event."""

import asyncio
import logging

from sophon.clock import Clock
from sophon_channels.contract import ButtonPress, Channel
from sophon_hosting.background_tasks import BackgroundTasks

log = logging.getLogger("sophon")

MAX_CONCURRENT_ACKNOWLEDGEMENTS = 100
"""Maximum number of calls to the platform at a time; further acknowledgements wait."""
MAX_PENDING_ACKNOWLEDGEMENTS = 10_000
"""Maximum number of pending acknowledgements; beyond it, presses are decided without acknowledgement."""
SHUTDOWN_GRACE_SECONDS = 1.0
"""How long pending acknowledgements may take at shutdown."""


class ButtonAcknowledger:
    """Background acknowledgements of one channel."""

    def __init__(self, channel: Channel, clock: Clock) -> None:
        self._channel, self._clock = channel, clock
        self._pending = BackgroundTasks()
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_ACKNOWLEDGEMENTS)

    async def start(self, press: ButtonPress, note: str) -> None:
        """Start the acknowledgement and return; the result is not awaited."""
        if len(self._pending) >= MAX_PENDING_ACKNOWLEDGEMENTS:
            log.warning(
                "%s: a button press is not acknowledged, because %d others are pending",
                self._channel.name,
                MAX_PENDING_ACKNOWLEDGEMENTS,
            )
            return
        self._pending.start(self._acknowledge(press, note))
        await asyncio.sleep(0)  # lets the task start before the next event is handled

    async def stop(self) -> None:
        """Wait `SHUTDOWN_GRACE_SECONDS` for the pending acknowledgements, then cancel them."""
        if self._pending:
            try:
                async with self._clock.timeout(SHUTDOWN_GRACE_SECONDS):
                    await asyncio.wait(list(self._pending))
            except TimeoutError:
                log.info("%s: %d button presses stay without acknowledgement", self._channel.name, len(self._pending))
        await self._pending.stop()

    async def _acknowledge(self, press: ButtonPress, note: str) -> None:
        async with self._slots:
            try:
                await self._channel.acknowledge_press(press, note)
            except Exception:
                log.exception("%s: a button press could not be acknowledged", self._channel.name)
