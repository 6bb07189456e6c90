"""Loops that run as long as a host: those of every process, and the duties of one process of a group at a time."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.services import Services
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.leadership.membership import GroupMembership


@dataclass(frozen=True, slots=True)
class BackgroundLoop:
    """A loop that runs until it is cancelled; with a `duty` in the leader of that name, one process of a group."""

    run: Callable[[], Coroutine[Any, Any, None]]
    duty: str = ""


CreateLoops: TypeAlias = Callable[[Services, GroupMembership], Iterable[BackgroundLoop]]
"""Returns loops for a host with these services. Raises InputError if the host must not start."""


class BackgroundLoops:
    """Loops of a host as tasks."""

    def __init__(self, membership: GroupMembership) -> None:
        self._membership = membership
        self.tasks = BackgroundTasks()
        """The running loops."""

    def start(self, loops: Iterable[BackgroundLoop]) -> None:
        """Start loops."""
        for loop in loops:
            self.tasks.start(self._membership.leadership.lead(loop.duty, loop.run) if loop.duty else loop.run())

    async def stop(self) -> None:
        """Cancel all loops and wait for their end."""
        await self.tasks.stop()
