"""Shared timer: any number of calls that are due later, behind one timer of the event loop."""

import contextvars
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable


class SharedTimer:
    """Calls callbacks when they are due, in that order, in an empty `contextvars` context.

    A timer of the loop costs a push into its heap for every call, and one that is cancelled stays there. Here a call
    that is added and cancelled before it is due costs two changes of a dictionary: the loop's one timer is set for the
    earliest call, is left alone when that is cancelled, and set anew when it fires. A callback that raises is reported
    to the loop, and the others still run.
    """

    __slots__ = ("_armed_until", "_handle", "_waiting", "loop")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop
        self._waiting: dict[DueCall, None] = {}
        self._handle: TimerHandle | None = None
        self._armed_until = 0.0

    def call_later(self, seconds: float, callback: Callable[[], object]) -> "DueCall":
        """Call `callback` after `seconds`; at 0 or less in the next pass of the loop."""
        now = self.loop.time()
        call = DueCall(self._waiting, now + seconds if seconds > 0 else now, callback)
        self._waiting[call] = None
        if self._handle is None or call.due < self._armed_until:
            self._arm(call.due)
        return call

    def _arm(self, due: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed_until = due
        # The context of whichever turn happens to arm the timer must not live as long as the timer.
        self._handle = self.loop.call_at(due, self._fire, context=contextvars.Context())

    def _fire(self) -> None:
        # A pass of the loop runs what is due within the resolution of its clock, so the set time counts, too.
        now = max(self.loop.time(), self._armed_until)
        self._handle = None
        for call in sorted((call for call in self._waiting if call.due <= now), key=_due_at):
            callback = call.callback
            if callback is None:
                continue  # an earlier one of these has cancelled it
            call.cancel()
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - as the loop does with a callback of its own
                self.loop.call_exception_handler({"message": f"{callback!r} failed", "exception": error})
        if self._waiting and self._handle is None:
            self._arm(min(call.due for call in self._waiting))


class DueCall:
    """A call that is due at `due`, in the loop's time; it is over once `callback` is None."""

    __slots__ = ("_waiting", "callback", "due")

    def __init__(self, waiting: "dict[DueCall, None]", due: float, callback: Callable[[], object]) -> None:
        self._waiting = waiting
        self.due = due
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Call nothing any more; no effect after the call."""
        if self.callback is not None:
            self.callback = None  # it may hold its owner, which holds this call
            del self._waiting[self]


def _due_at(call: DueCall) -> float:
    return call.due
