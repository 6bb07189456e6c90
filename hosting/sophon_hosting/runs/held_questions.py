"""Registry of the questions for which a running call of this process waits."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class HeldQuestions:
    """Events of the held questions by approval id; a decision sets the event, and resumes no turn."""

    def __init__(self) -> None:
        self._decided: dict[str, asyncio.Event] = {}

    @contextmanager
    def hold(self, approval_id: str) -> Generator[asyncio.Event]:
        """Register a question for the time of the block; the event is set when it is decided in this process."""
        event = self._decided[approval_id] = asyncio.Event()
        try:
            yield event
        finally:
            del self._decided[approval_id]

    def notify(self, approval_id: str) -> bool:
        """Wake the call that waits for this question; return whether there is one."""
        event = self._decided.get(approval_id)
        if event is None:
            return False
        event.set()
        return True
