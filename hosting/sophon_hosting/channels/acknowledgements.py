"""Presses are acknowledged beside whatever arrives next: a platform that hangs in it holds up nothing."""

import asyncio
import logging

from sophon_channels.contract import Channel, Pressed

log = logging.getLogger("sophon")

MOST_AT_ONCE = 100
"""With more under way the platform hangs; what is not acknowledged is decided all the same."""


class Acknowledgements:
    """Those of one channel that are under way."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._under_way: set[asyncio.Task[None]] = set()

    async def begin(self, press: Pressed, note: str) -> None:
        """It is on its way when this returns; whether it arrives is waited for by nobody."""
        if len(self._under_way) >= MOST_AT_ONCE:
            log.warning("%s: a press is not acknowledged, %d others hang", self._channel.name, MOST_AT_ONCE)
            return
        task = asyncio.create_task(self._tell(press, note))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.sleep(0)  # its first step is done before the next arrival is looked at

    async def stop(self) -> None:
        """Leave alone what hangs."""
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tell(self, press: Pressed, note: str) -> None:
        try:
            await self._channel.acknowledge(press, note)
        except Exception:
            log.exception("%s: a press could not be acknowledged", self._channel.name)
