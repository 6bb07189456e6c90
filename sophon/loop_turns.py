"""Turns of the event loop: whether a task that never waits must let the loop run now, and for how many passes.

A yield that nothing waits for costs a system call and two walks through the coroutines of a turn. It is left out while
the loop has nothing ready and nothing due, for `MAX_SECONDS_WITHOUT_PASS` at most.
"""

import math
import threading
from asyncio import AbstractEventLoop
from typing import Any

MAX_SECONDS_WITHOUT_PASS = 0.002
"""Longest time for which the loop learns of no I/O because of tasks that never wait: what a person cannot notice, and
30 times a plain turn."""


class _LastPass(threading.local):
    """Loop time at which a task of this thread last let its loop run; loops share one clock."""

    at = -math.inf


_last_pass = _LastPass()


def count_due_passes(loop: AbstractEventLoop) -> int:
    """Return how many passes of the loop a task that does not wait must let happen now: 0, 1 or 2.

    2 if a timer is due, because a pass runs such a timer behind the task that has yielded. asyncio has no public API
    for what is ready and due; a loop that does not tell as asyncio's own does always gets its passes.
    """
    untyped: Any = loop
    try:
        ready, timers = untyped._ready, untyped._scheduled
    except AttributeError:
        return 2
    now = loop.time()
    if timers and timers[0]._when <= now:
        passes = 2
    elif ready or not 0 <= now - _last_pass.at < MAX_SECONDS_WITHOUT_PASS:
        passes = 1
    else:
        return 0
    _last_pass.at = now
    return passes
