"""Deadline of one attempt: the limits on the whole, on silence within a stream, and before its first output."""

from collections.abc import Callable, Sequence
from itertools import chain
from types import TracebackType

from sophon.clock import Clock
from sophon.errors import ModelTimeout
from sophon.invisible_characters import is_blank
from sophon.models.gateway.options import SILENCE_NOTICE_SECONDS, AttemptLimits
from sophon.models.gateway.stream_taps import StreamTap
from sophon.models.model import AttemptOutput
from sophon.task_timeout import TaskTimeout

CHECKS_PER_IDLE_TIMEOUT = 4
"""Checks within the idle timeout: a silent attempt ends at most a quarter of the timeout late."""


class AttemptDeadline(TaskTimeout):
    """Context manager that ends its body with ModelTimeout when a limit has passed.

    A timer fires a few times per idle timeout and looks for new pieces: a piece costs nothing, and no task runs. What
    counts are pieces of text, reasoning and tool calls that are not white space; comments, empty deltas and
    whatever else keeps a connection busy do not. Without `is_streamed` nobody can see progress, and only the limit on
    the whole attempt holds. `on_silence` is called once if the reply has not begun after a minute, with the seconds and
    the limit on them. A body that returns although it was cancelled has timed out, too.
    """

    __slots__ = (
        "_failure",
        "_limits",
        "_on_silence",
        "_progress",
        "_silent_since",
        "_waits_for_pieces",
        "output",
        "started_at",
        "tap",
    )

    def __init__(
        self,
        clock: Clock,
        limits: AttemptLimits,
        output: AttemptOutput,
        tap: StreamTap | None,
        started_at: float,
        *,
        is_streamed: bool,
        on_silence: Callable[[float, float | None], None] | None = None,
    ) -> None:
        super().__init__(clock, limits.attempt_timeout_seconds)
        self._limits = limits
        self.output, self.tap = output, tap
        self._progress: _Progress | None = None
        self.started_at = self._silent_since = started_at
        self._failure: ModelTimeout | None = None
        self._on_silence = on_silence
        self._waits_for_pieces = is_streamed and limits.idle_timeout_seconds is not None
        if self._waits_for_pieces or limits.first_output_timeout_seconds is not None or on_silence is not None:
            left = self._seconds_to_next_check(started_at)
            self._seconds = left if left != float("inf") else None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await super().__aexit__(kind, error, trace)
        except TimeoutError:
            error = None  # the scope's own cancellation, and not one from outside
        if self._failure is not None and (error is None or _is_consequence(error)):
            raise self._failure from error

    def _on_timer(self) -> None:
        now = self._clock.monotonic()
        if self._waits_for_pieces and self._has_grown():
            self._silent_since = now
        self._failure = self._find_passed_limit(now)
        if self._failure is None:
            if self._on_silence is not None and now - self.started_at >= SILENCE_NOTICE_SECONDS:
                self._end_notice(self._on_silence, now)
            left = self._seconds_to_next_check(now)
            if left != float("inf"):
                self._timer = self._clock.call_later(left, self._on_timer)
        else:
            self._expire()

    def _has_grown(self) -> bool:
        if self._progress is None:  # most attempts end before the first check
            self._progress = _Progress(self.output, self.tap)
        return self._progress.has_grown()

    def _find_passed_limit(self, now: float) -> ModelTimeout | None:
        attempt, idle = self._limits.attempt_timeout_seconds, self._limits.idle_timeout_seconds
        if attempt is not None and now - self.started_at >= attempt:
            return ModelTimeout(f"the reply was not complete after {attempt:g} s (Providers[].AttemptTimeout)")
        if self._waits_for_pieces and idle is not None and now - self._silent_since >= idle:
            return ModelTimeout(f"the model wrote nothing for {idle:g} s (Providers[].IdleTimeout)")
        first = self._limits.first_output_timeout_seconds
        if first is not None and now - self.started_at >= first and not self._has_begun():
            return ModelTimeout(f"the reply did not begin within {first:g} s (Providers[].FirstOutputTimeout)")
        return None

    def _end_notice(self, report: Callable[[float, float | None], None], now: float) -> None:
        self._on_silence = None
        if not self._has_begun():
            limits = self._limits
            longest = limits.idle_timeout_seconds if self._waits_for_pieces else limits.attempt_timeout_seconds
            report(now - self.started_at, longest)

    def _has_begun(self) -> bool:
        """Return whether anything was said. The head of a response is nothing: servers send it and then hang."""
        said = chain.from_iterable(_list_sources(self.output, self.tap))
        return bool(self.output.size.values) or any(not is_blank(piece) for piece in said)

    def _seconds_to_next_check(self, now: float) -> float:
        attempt, idle = self._limits.attempt_timeout_seconds, self._limits.idle_timeout_seconds
        left = self.started_at + attempt - now if attempt is not None else float("inf")
        if self._waits_for_pieces and idle is not None:
            left = min(left, idle / CHECKS_PER_IDLE_TIMEOUT)
        first = self._limits.first_output_timeout_seconds
        if first is not None and now - self.started_at < first:
            left = min(left, self.started_at + first - now)
        if self._on_silence is not None:
            left = min(left, self.started_at + SILENCE_NOTICE_SECONDS - now)
        return left


class _Progress:
    """Watches the pieces of an attempt: what its adapter notes, and what reaches the taps on its stream."""

    __slots__ = ("_output", "_seen", "_sources", "_values")

    def __init__(self, output: AttemptOutput, tap: StreamTap | None) -> None:
        self._output = output
        self._sources = _list_sources(output, tap)
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


def _list_sources(output: AttemptOutput, tap: StreamTap | None) -> list[Sequence[str]]:
    """Return the lists that get the pieces of an attempt."""
    sources: list[Sequence[str]] = [output.pieces]
    if tap is not None:
        sources += [tap.pieces, *([tap.reasoning.pieces] if tap.reasoning is not None else [])]
    return sources


def _is_consequence(error: BaseException) -> bool:
    """Return whether an error may come from the cancellation: a failed test and a cancellation from outside do not."""
    return isinstance(error, Exception) and not isinstance(error, AssertionError)
