"""Changes of the outbox that somebody else than its workers makes: entries that were put back, or stored elsewhere."""

from collections.abc import Callable, Generator
from contextlib import contextmanager


class OutboxChanges:
    """Wakes the outbox workers of a host."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    @contextmanager
    def waking(self, wake: Callable[[], None]) -> Generator[None]:
        """Call `wake` at each change meanwhile."""
        self._listeners.append(wake)
        try:
            yield
        finally:
            self._listeners.remove(wake)

    def notify(self) -> None:
        """Report that there may be entries to send."""
        for wake in self._listeners:
            wake()
