"""Deletion of a session: its tasks are cancelled and have ended, and nothing of it goes on under its id."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Protocol, TypeAlias

from sophon.errors import Busy as Busy
from sophon.errors import NotFound
from sophon.services import Services
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.queue.contract import TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.deletion_lock import DeletionLock
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

RELEASE_TIMEOUT_SECONDS = 1.0
"""How long a deletion waits for a worker to release a run that has its outcome."""

MAX_ATTEMPTS = 5
"""How often a deletion cancels the messages that another host accepts meanwhile, before it gives up with Busy."""


class _InUse(Exception):
    """Something was added to a session that was to be deleted, or is to happen in it."""


class SessionWork(Protocol):
    """Work of a feature that belongs to sessions, and runs in sessions of its own."""

    def end(self, session_id: str) -> AsyncIterator[str]:
        """End the work of a session that is about to be deleted; return the other sessions in which it runs.

        Each of these is deleted before the next is asked for.
        """
        ...


CreateSessionWork: TypeAlias = Callable[[Services, EventBus], SessionWork]


class SessionDeletion:
    """Deletes sessions of a host. `cancel` is `Host.cancel`; messages are accepted under the gate.

    The gate is that of one process. The store deletes no session with an unfinished run, so that a message that another
    host has just accepted is cancelled like the others, and never vanishes without its outcome.
    """

    def __init__(
        self,
        services: Services,
        event_bus: EventBus,
        active_runs: ActiveRuns,
        queue: TaskQueue,
        cancel: Callable[[str], Awaitable[Run]],
        work: Sequence[SessionWork] = (),
    ) -> None:
        self._services, self._event_bus, self._active_runs, self._cancel = services, event_bus, active_runs, cancel
        self._queue, self._work = queue, work
        self.gate = DeletionLock()

    async def delete(self, session_id: str) -> None:
        """Cancel the tasks of a session and of its branches, delete them and end all subscriptions to them.

        Raises NotFound, Busy.
        """
        store = host_store(self._services)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            async with self._deleting_family(session_id) as family:
                for each in family:
                    await self._cancel_runs(each)
                try:
                    await self._delete(family, partial(store.sessions.delete, session_id, unless_unfinished=True))
                except Busy:
                    unfinished = [await store.runs.list_unfinished(each) for each in family]
                    if attempt == MAX_ATTEMPTS or not any(unfinished):  # else accepted by another host
                        raise
                else:
                    return

    async def delete_idle(self, session_id: str, before: datetime) -> bool:
        """Delete the session as retention does, if it and its branches are idle; return whether. Cancels nothing.

        The store decides, so that a message which another process accepts meanwhile keeps the session.
        """

        async def delete_if_idle() -> None:
            if not await host_store(self._services).sessions.delete_idle(session_id, before):
                raise _InUse(session_id)

        try:
            async with self._locking_family(session_id) as family:
                await self._delete(family, delete_if_idle)
        except (_InUse, Busy, NotFound):  # NotFound: deleted with another branch
            return False
        return True

    @asynccontextmanager
    async def _deleting_family(self, session_id: str) -> AsyncGenerator[Sequence[str]]:
        """End the work of a session and its branches, then hold the gates of these; yield their ids."""
        for each in await host_store(self._services).sessions.list_family(session_id):
            await self._end_work(each.id)
        async with self._locking_family(session_id) as family:
            yield family

    @asynccontextmanager
    async def _locking_family(self, session_id: str) -> AsyncGenerator[Sequence[str]]:
        """Hold the gates of a session and its branches; yield their ids. Raises NotFound.

        A branch that is begun while the gates are waited for is locked by a further attempt.
        """
        sessions = host_store(self._services).sessions
        while True:
            family = [each.id for each in await sessions.list_family(session_id)]
            async with AsyncExitStack() as gates:
                for each in sorted(family):  # in one order, so that two deletions do not wait for each other
                    await gates.enter_async_context(self.gate.deleting(each))
                if [each.id for each in await sessions.list_family(session_id)] == family:
                    yield family
                    return

    async def _cancel_runs(self, session_id: str) -> None:
        """Cancel the session's runs. Raises Busy."""
        while unfinished := await host_store(self._services).runs.list_unfinished(session_id):
            for run in unfinished:
                if not (await self._cancel(run.id)).is_finished:
                    raise _busy(run)

    async def _delete(self, session_ids: Sequence[str], delete: Callable[[], Awaitable[None]]) -> None:
        """Delete sessions without unfinished tasks by one write, and what this process knows of them."""
        for each in session_ids:
            await self._wait_for_workers(each)
        await self._delete_and_tell(session_ids, delete)
        for each in session_ids:
            self._forget_routes(each)
            with suppress(QueueUnavailable):
                await self._remove_dead_letters(each)

    async def _delete_and_tell(self, session_ids: Sequence[str], delete: Callable[[], Awaitable[None]]) -> None:
        """Call `delete` while the events of all these sessions are held back; then end the subscriptions to them."""
        if not session_ids:
            await delete()
            return

        async def delete_others(_: str) -> None:
            await self._delete_and_tell(session_ids[1:], delete)

        await self._event_bus.delete_session(session_ids[0], delete_others)

    async def _remove_dead_letters(self, session_id: str) -> None:
        for letter in await self._queue.list_dead_letters():
            if letter.entry.session_id == session_id:
                await self._queue.remove(letter.entry.task_id)

    async def _end_work(self, session_id: str) -> None:
        """End the work of a session, and delete the sessions in which it runs, before that itself."""
        for work in self._work:
            async for each in work.end(session_id):
                if await host_store(self._services).sessions.find(each) is not None:
                    await self.delete(each)

    def _forget_routes(self, session_id: str) -> None:
        """Forget the routes of the session's messages, which the store has deleted with it."""
        policies = self._services.learning.policies
        if policies is not None:
            policies.forget(session_id=session_id)

    async def _wait_for_workers(self, session_id: str) -> None:
        """Wait until the workers have emitted the last events of the session's runs, which follow their outcomes."""
        for active_run in self._active_runs:
            if active_run.run is not None and active_run.run.session_id == session_id:
                try:
                    async with self._services.clock.timeout(RELEASE_TIMEOUT_SECONDS):
                        await active_run.released.wait()
                except TimeoutError:
                    raise _busy(active_run.run) from None


def _busy(run: Run) -> Busy:
    return Busy(f"task {run.id!r} is still stopping; delete the session when it has ended")
