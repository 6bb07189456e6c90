"""Stopwatch for the active time of a turn, excluding the time that it waits for a person."""

from sophon.clock import Clock


class Stopwatch:
    """Stopwatch that starts at construction; `pause` and `resume` nest, so concurrent waits are counted once.

    `initial_seconds` is the active time before a resume.
    """

    __slots__ = ("_clock", "_earlier", "_pauses", "_since", "initial_seconds")

    def __init__(self, clock: Clock, earlier_seconds: float = 0.0) -> None:
        self._clock = clock
        self.initial_seconds = self._earlier = earlier_seconds
        self._since = clock.monotonic()
        self._pauses = 0

    @property
    def seconds(self) -> float:
        """Active time so far in seconds, including the time before a resume (`earlier_seconds`)."""
        if self._pauses:
            return self._earlier
        return self._earlier + self._clock.monotonic() - self._since

    def pause(self) -> None:
        """Stop the time; each call needs a matching `resume`."""
        if not self._pauses:
            self._earlier = self.seconds
        self._pauses += 1

    def resume(self) -> None:
        """End one `pause`; time runs again after the last one."""
        self._pauses -= 1
        if not self._pauses:
            self._since = self._clock.monotonic()
