"""Places for running tools: so many at once in a turn, and a serial tool alone."""

import asyncio
from types import TracebackType


class Places:
    """First come, first served. A serial holder waits until it is alone, and whoever comes later waits for it.

    Shared by a turn, its tool-call branches and its plan steps; whoever waits for a person holds no place.
    """

    __slots__ = ("_alone", "_running", "_waiting", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._running = 0
        self._alone = False
        # No deque: even an empty one takes 600 bytes, and every turn has one of these in which hardly anybody waits.
        self._waiting: list[tuple[asyncio.Future[None], bool]] = []

    def take(self, *, serial: bool = False) -> "_Place":
        """`async with places.take(...)`: wait for a place, hold it, give it back."""
        return _Place(self, serial)

    def fits(self, serial: bool) -> bool:
        """Whether one more may run now, were nobody waiting."""
        return self._running == 0 if serial else not self._alone and self._running < self.limit

    async def acquire(self, serial: bool) -> None:
        """Take a place; give it back with `release`."""
        if not self._waiting and self.fits(serial):
            self._admit(serial)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (turn, serial)
        self._waiting.append(entry)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.release()
            else:
                # Whoever gave a place back in between has passed over it already.
                if entry in self._waiting:
                    self._waiting.remove(entry)
                self._call_next()
            raise

    def release(self) -> None:
        """Give a place back."""
        self._running -= 1
        self._alone = False
        if self._waiting:
            self._call_next()

    def _admit(self, serial: bool) -> None:
        self._running += 1
        self._alone = serial

    def _call_next(self) -> None:
        while self._waiting and self.fits(self._waiting[0][1]):
            turn, serial = self._waiting.pop(0)
            if not turn.done():
                self._admit(serial)
                turn.set_result(None)


class _Place:
    __slots__ = ("_places", "_serial")

    def __init__(self, places: Places, serial: bool) -> None:
        self._places = places
        self._serial = serial

    async def __aenter__(self) -> None:
        await self._places.acquire(self._serial)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._places.release()
