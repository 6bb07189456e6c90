"""Registry of the questions for which a running call of this process waits."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class PendingQuestions:
    """Events of the held questions by approval id; an event says that the store may have the decision.

    The call that waits reads it there; no turn is resumed.
    """

    def __init__(self) -> None:
        self._events: dict[str, tuple[str, asyncio.Event]] = {}

    @contextmanager
    def hold(self, approval_id: str, task_id: str) -> Generator[asyncio.Event]:
        """Register a question of a task for the time of the block; the event is set when it may be decided."""
        event = asyncio.Event()
        self._events[approval_id] = task_id, event
        try:
            yield event
        finally:
            del self._events[approval_id]

    def notify(self, approval_id: str) -> bool:
        """Wake the call that waits for this question; return whether there is one."""
        held = self._events.get(approval_id)
        if held is None:
            return False
        held[1].set()
        return True

    def wake_run(self, task_id: str) -> None:
        """Wake all calls of a task that wait: another process may have decided."""
        for held_task_id, event in self._events.values():
            if held_task_id == task_id:
                event.set()
