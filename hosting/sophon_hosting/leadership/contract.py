"""The contract of leadership: work that one process of a group does at a time."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

LeaderWork: TypeAlias = Callable[[], Awaitable[None]]
"""Work that runs until it is cancelled; called anew each time that this process becomes its leader."""


class Leadership(Protocol):
    """Decides which process of a group does what only one may do."""

    async def lead(self, duty: str, work: LeaderWork) -> None:
        """Run `work` whenever this process is the leader of the duty, until cancelled or until `work` returns."""
        ...

    def is_leader(self, duty: str) -> bool:
        """Return whether this process does the duty now."""
        ...

    def list_duties(self) -> list[str]:
        """Return the duties that this process leads now, sorted."""
        ...


class SoleLeadership:
    """Leadership of a process that has its store alone: it leads everything, without a lease."""

    def __init__(self) -> None:
        self._duties: set[str] = set()

    async def lead(self, duty: str, work: LeaderWork) -> None:
        """See `Leadership.lead`."""
        self._duties.add(duty)
        try:
            await work()
        finally:
            self._duties.discard(duty)

    def is_leader(self, duty: str) -> bool:
        """Return True: there is no other process."""
        return True

    def list_duties(self) -> list[str]:
        """See `Leadership.list_duties`."""
        return sorted(self._duties)
