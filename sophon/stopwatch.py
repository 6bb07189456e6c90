"""How long a turn has been at work, the time in which it waited for a person left out."""

from sophon.clock import Clock


class Stopwatch:
    """Runs from when it is made; `pause` and `resume` nest, so that several waits at once count as one."""

    __slots__ = ("_clock", "_earlier", "_pauses", "_since")

    def __init__(self, clock: Clock, earlier_seconds: float = 0.0) -> None:
        self._clock = clock
        self._earlier = earlier_seconds
        self._since = clock.monotonic()
        self._pauses = 0

    @property
    def seconds(self) -> float:
        """Time at work so far, earlier runs of a resumed turn included."""
        if self._pauses:
            return self._earlier
        return self._earlier + self._clock.monotonic() - self._since

    def pause(self) -> None:
        """Somebody waits for a person."""
        if not self._pauses:
            self._earlier = self.seconds
        self._pauses += 1

    def resume(self) -> None:
        """The wait is over."""
        self._pauses -= 1
        if not self._pauses:
            self._since = self._clock.monotonic()
