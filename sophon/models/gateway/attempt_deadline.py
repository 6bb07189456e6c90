"""Deadlines of one attempt: its whole time, and the time in which a streaming model says nothing."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from sophon.clock import Clock
from sophon.errors import ModelTimeout
from sophon.models.gateway.attempt_limits import AttemptLimits
from sophon.models.gateway.streaming import StreamTap
from sophon.models.model import AttemptOutput

CHECKS_PER_IDLE_TIMEOUT = 4
"""Checks within the idle timeout: a silent attempt ends at most a quarter of the timeout late."""


class AttemptDeadline:
    """Async context manager that ends its body with ModelTimeout when a limit has passed.

    One task per attempt wakes a few times per idle timeout and looks for new pieces, so that a piece costs nothing.
    What counts are pieces of text, reasoning and tool calls that are not white space; comments, empty deltas and
    whatever else keeps a connection busy do not. Without `is_streamed` nobody can see progress, and only the limit on
    the whole attempt holds. A body that returns although it was cancelled has timed out, too.
    """

    __slots__ = ("_clock", "_failure", "_limits", "_progress", "_scope", "_started_at", "_task", "_waits_for_pieces")

    def __init__(
        self, clock: Clock, limits: AttemptLimits, output: AttemptOutput, tap: StreamTap | None, *, is_streamed: bool
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._waits_for_pieces = is_streamed and limits.idle_timeout_seconds is not None
        self._progress = _Progress(output, tap)
        self._scope = asyncio.timeout(None)
        self._started_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._failure: ModelTimeout | None = None

    async def __aenter__(self) -> Self:
        await self._scope.__aenter__()
        if self._waits_for_pieces or self._limits.attempt_timeout_seconds is not None:
            self._started_at = self._clock.monotonic()
            self._task = asyncio.create_task(self._watch(), name="sophon-attempt-deadline")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
        try:
            await self._scope.__aexit__(kind, error, trace)
        except TimeoutError:
            error = None  # the scope's own cancellation, and not one from outside
        if self._failure is not None and (error is None or _is_consequence(error)):
            raise self._failure from error

    async def _watch(self) -> None:
        silent_since = self._started_at
        while True:
            now = self._clock.monotonic()
            if self._waits_for_pieces and self._progress.has_grown():
                silent_since = now
            failure = self._find_passed_limit(now, silent_since)
            if failure is not None:
                self._failure = failure
                self._scope.reschedule(asyncio.get_running_loop().time())
                return
            await _pause(self._clock, self._seconds_to_next_check(now))

    def _find_passed_limit(self, now: float, silent_since: float) -> ModelTimeout | None:
        attempt, idle = self._limits.attempt_timeout_seconds, self._limits.idle_timeout_seconds
        if attempt is not None and now - self._started_at >= attempt:
            return ModelTimeout(f"the reply was not complete after {attempt:g} s (Providers[].AttemptTimeout)")
        if self._waits_for_pieces and idle is not None and now - silent_since >= idle:
            return ModelTimeout(f"the model wrote nothing for {idle:g} s (Providers[].IdleTimeout)")
        return None

    def _seconds_to_next_check(self, now: float) -> float:
        attempt, idle = self._limits.attempt_timeout_seconds, self._limits.idle_timeout_seconds
        left = self._started_at + attempt - now if attempt is not None else float("inf")
        if self._waits_for_pieces and idle is not None:
            left = min(left, idle / CHECKS_PER_IDLE_TIMEOUT)
        return left


class _Progress:
    """Watches the pieces of an attempt: what its adapter notes, and what reaches the taps on its stream."""

    __slots__ = ("_output", "_seen", "_sources", "_values")

    def __init__(self, output: AttemptOutput, tap: StreamTap | None) -> None:
        self._output = output
        self._sources: list[Sequence[str]] = [output.pieces]
        if tap is not None:
            self._sources += [tap.pieces, *([tap.reasoning.pieces] if tap.reasoning is not None else [])]
        self._seen = [0] * len(self._sources)
        self._values = 0

    def has_grown(self) -> bool:
        """Return whether a piece that is not white space has been added since the last call."""
        grown = self._output.size.values != self._values
        self._values = self._output.size.values
        for position, pieces in enumerate(self._sources):
            start, self._seen[position] = self._seen[position], len(pieces)
            grown = grown or any(pieces[index] and not pieces[index].isspace() for index in range(start, len(pieces)))
        return grown


def _is_consequence(error: BaseException) -> bool:
    """Return whether an error may come from the cancellation: a failed test and a cancellation from outside do not."""
    return isinstance(error, Exception) and not isinstance(error, AssertionError)


async def _pause(clock: Clock, seconds: float) -> None:
    """Wait on the clock as a timeout and not as a sleep, so that a virtual clock does not skip to its end."""
    try:
        async with clock.timeout(seconds):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        return

