"""Backport for Python before 3.13: an `asyncio.TaskGroup` takes back the request by which it cancels its own task.

A group whose task waits at its end cancels that task when a child fails. Before 3.13 the request stays in the count of
`Task.cancelling`, by which a turn knows that somebody cancels it (CPython gh-116720): one failed child, even a handled
one, would end the turn as cancelled.
"""

import asyncio
import sys
from types import TracebackType
from typing import Any


def mend_task_groups() -> None:
    """Correct the count of all task groups of the process; nothing to do from Python 3.13 on."""
    group: Any = asyncio.TaskGroup
    if sys.version_info >= (3, 13) or hasattr(group.__aexit__, "__wrapped__"):
        return
    leave = group.__aexit__

    async def leave_and_take_back(
        self: Any, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_taken_back = self._parent_cancel_requested  # by `leave` itself
        try:
            await leave(self, kind, error, trace)
        finally:
            if self._parent_cancel_requested and not is_taken_back:
                self._parent_task.uncancel()

    leave_and_take_back.__wrapped__ = leave  # type: ignore[attr-defined] # pyright: ignore[reportFunctionMemberAccess]
    group.__aexit__ = leave_and_take_back
