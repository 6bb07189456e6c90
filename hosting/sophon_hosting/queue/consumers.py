"""Waiting consumers: tasks blocked in `take`, woken in FIFO order."""

import asyncio
from collections import OrderedDict


class WaitingConsumers:
    """FIFO of waiting consumers. A woken consumer fetches its item itself, so cancellation cannot lose one."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: OrderedDict[asyncio.Future[None], None] = OrderedDict()

    async def wait(self) -> None:
        """Wait until woken, possibly spuriously. A consumer cancelled after its wake-up wakes the next one."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = None
        try:
            await woken
        except BaseException:
            self._waiting.pop(woken, None)
            if woken.done() and not woken.cancelled():
                self.wake_one()
            raise

    def wake_one(self) -> None:
        """Wake the consumer that has waited longest, if any."""
        while self._waiting:
            woken, _ = self._waiting.popitem(last=False)
            if not woken.done():
                woken.set_result(None)
                return
