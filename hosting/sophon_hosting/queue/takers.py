"""Those who wait for something to take."""

import asyncio
from collections import OrderedDict


class Takers:
    """First come, first woken. Whoever is woken looks for itself; nothing is handed over that a cancel could lose."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: OrderedDict[asyncio.Future[None], None] = OrderedDict()

    async def wait(self) -> None:
        """Until woken, perhaps for nothing. Who is cancelled after it was woken wakes the next instead."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = None
        try:
            await woken
        except BaseException:
            self._waiting.pop(woken, None)
            if woken.done() and not woken.cancelled():
                self.wake()
            raise

    def wake(self) -> None:
        """Wake the one that has waited longest, if anybody waits."""
        while self._waiting:
            woken, _ = self._waiting.popitem(last=False)
            if not woken.done():
                woken.set_result(None)
                return
