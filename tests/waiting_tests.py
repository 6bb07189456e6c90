"""A test that waits too long fails, and tells where each of its tasks and threads stands.

pytest-timeout decides when (`timeout` in pyproject.toml) and shows the threads; of a coroutine that waits these know
nothing.
"""

import asyncio
import signal
import sys
import traceback
from collections.abc import Generator, Iterator
from types import FrameType
from typing import Any

import pytest

AWAITED = ("cr_await", "gi_yieldfrom", "ag_await")
"""What a coroutine, a generator and an asynchronous generator wait for."""


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item) -> Generator[None, Any, Any]:
    """Print the tasks before pytest-timeout ends the test."""
    result = yield
    usual = signal.getsignal(signal.SIGALRM)
    if callable(usual):

        def end(number: int, frame: Any) -> None:
            print_tasks()
            usual(number, frame)

        signal.signal(signal.SIGALRM, end)
    return result


def print_tasks() -> None:
    """Print for each task of the running loop which calls it waits in, to what pytest captures."""
    try:
        tasks: set[asyncio.Task[Any]] = asyncio.all_tasks()
    except RuntimeError:  # no loop runs
        return
    for task in sorted(tasks, key=lambda each: each.get_name()):
        calls = traceback.StackSummary.extract((frame, frame.f_lineno) for frame in frames_of(task.get_coro()))
        print(f"\nTask {task.get_name()!r} (most recent call last):\n{''.join(calls.format())}", file=sys.stderr)


def frames_of(awaited: Any) -> Iterator[FrameType]:
    """Return the frames of a coroutine and of what it awaits; `Task.get_stack` has only the first of them."""
    while awaited is not None:
        for kind in ("cr", "gi", "ag"):
            frame: FrameType | None = getattr(awaited, f"{kind}_frame", None)
            if frame is not None:
                yield frame
                break
        awaited = next((getattr(awaited, name) for name in AWAITED if hasattr(awaited, name)), None)
