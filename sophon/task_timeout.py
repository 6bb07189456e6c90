"""Timeout of a part of a task, on the clock's timer that all timeouts share."""

import asyncio
from types import TracebackType
from typing import Self

from sophon.clock import Clock, Timer


class TaskTimeout:
    """Context manager that cancels its body after `seconds` and raises TimeoutError; None for no time of its own.

    It tells its own cancellation from others as `asyncio.timeout` does, by `Task.cancelling`: a cancellation that
    arrives as well is not turned into a TimeoutError. `clock.timeout` sets a timer of the loop for each body; this one
    is for what every tool call and every attempt of a model call needs. `expire` ends the body at once. The time
    between `pause` and `resume` does not count; they nest.
    """

    __slots__ = ("_cancelling", "_clock", "_is_expired", "_paused", "_seconds", "_since", "_task", "_timer")

    _task: asyncio.Task[object] | None
    _cancelling: int
    _since: float

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._paused = 0
        self._timer: Timer | None = None
        self._is_expired = False
        # `_task`, `_cancelling` and `_since` are set on entry.

    def expired(self) -> bool:
        """Return whether the time passed while the body ran, whatever the body then did."""
        return self._is_expired

    def expire(self) -> None:
        """Cancel the body; for a timer's callback."""
        if self._task is not None and not self._is_expired:
            self._is_expired = True
            self._task.cancel()

    def pause(self) -> None:
        """Stop the time of the body; each call needs a matching `resume`."""
        self._paused += 1
        if self._paused == 1 and self._timer is not None and self._seconds is not None:
            self._timer.cancel()
            self._timer = None
            self._seconds = max(self._seconds - (self._clock.monotonic() - self._since), 0.0)

    def resume(self) -> None:
        """End one `pause`; after the last one the rest of the time begins, if the body still runs."""
        self._paused -= 1
        if not self._paused and self._task is not None and not self._is_expired:
            self._start()

    def _start(self) -> None:
        if self._seconds is not None:
            self._since = self._clock.monotonic()
            self._timer = self._clock.call_later(self._seconds, self._on_timer)

    def _leave(self) -> None:
        """Forget timer and task, so that nothing holds them or calls this scope any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._task = None

    def _on_timer(self) -> None:
        self.expire()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a TaskTimeout must be used inside a task")
        self._task = task
        self._cancelling = task.cancelling()
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = self._task
        self._leave()
        if self._is_expired and task is not None:
            is_own = task.uncancel() <= self._cancelling
            if is_own and kind is asyncio.CancelledError:
                raise TimeoutError from error
