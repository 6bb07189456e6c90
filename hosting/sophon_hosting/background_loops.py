"""Loops that run as long as a host: those of every process, and the duties of one process of a group at a time."""

from collections.abc import Callable, Collection, Coroutine, Iterator
from typing import Any, TypeAlias

from sophon.services import Services
from sophon_hosting.audit_heads import AuditHeadWriter
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.leadership.contract import LeaderWork
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.memory_vectors import MemoryVectors
from sophon_hosting.message_indexing import MessageIndexing
from sophon_hosting.retention import RetentionSweep, SessionDeleter, Sweep
from sophon_hosting.snapshot_copies import SnapshotCopies
from sophon_hosting.store.contract import host_store

Loop: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Runs until it is cancelled."""


class BackgroundLoops:
    """Loops of a host as tasks; `sessions` deletes those that retention no longer keeps, `sweeps` are the features'."""

    def __init__(
        self, services: Services, membership: GroupMembership, sessions: SessionDeleter, sweeps: Collection[Sweep]
    ) -> None:
        self._services, self._membership, self._sessions, self._sweeps = services, membership, sessions, sweeps
        self.tasks = BackgroundTasks()
        """The running loops."""

    def start(self, *loops: Loop, audit_key: str | None) -> None:
        """Start `loops`, and those of the stored data; with an `audit_key` the heads of the audit log are signed."""
        every = [*loops]
        if self._membership.is_shared:  # what the leader of retention deletes may be in copies of this machine
            services = self._services
            every.append(SnapshotCopies(host_store(services), services.clock, services.folder).run_forever)
        for loop in every:
            self.tasks.start(loop())
        for duty, work in self._list_duties(audit_key):
            self.tasks.start(self._membership.leadership.lead(duty, work))

    async def stop(self) -> None:
        """Cancel all loops and wait for their end."""
        await self.tasks.stop()

    def _list_duties(self, audit_key: str | None) -> Iterator[tuple[str, LeaderWork]]:
        services = self._services
        store, clock, settings, folder = host_store(services), services.clock, services.settings, services.folder
        yield "retention", RetentionSweep(store, clock, settings, folder, self._sessions, self._sweeps).run_forever
        yield "message_index", MessageIndexing(store.message_search, clock).run_forever
        if (vectors := MemoryVectors(services)).are_used:
            yield "vectors", vectors.run_forever
        if audit_key is not None:
            heads = AuditHeadWriter(store, clock, folder / settings.guards.audit.head_file, audit_key)
            yield "audit_head", heads.run_forever
