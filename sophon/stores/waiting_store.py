"""The store as a running turn sees it: an operation that finds it unavailable waits, and is then repeated.

A turn has paid for the replies and executed the calls that it is about to store. An error would lose them, and the
turn would ask the model again. Repeating is safe, because a refused write has changed nothing (`Database.write`).
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from sophon.clock import Clock
from sophon.errors import StoreUnavailable
from sophon.stores.api_tokens.contract import ApiTokenStore
from sophon.stores.approvals.contract import ApprovalStore
from sophon.stores.attachments.contract import AttachmentStore
from sophon.stores.audit.contract import AuditStore
from sophon.stores.channel_state.contract import ChannelStateStore
from sophon.stores.contract import Store
from sophon.stores.data_labels.contract import DataLabelStore
from sophon.stores.events.contract import EventLog
from sophon.stores.goals.contract import GoalStore
from sophon.stores.grants.contract import GrantStore
from sophon.stores.health import StoreHealth
from sophon.stores.leases.contract import LeaseStore
from sophon.stores.maintenance.contract import StoreMaintenance
from sophon.stores.memories.contract import MemoryStore
from sophon.stores.message_search.contract import MessageSearch
from sophon.stores.outbox.contract import Outbox
from sophon.stores.persons.contract import PersonStore
from sophon.stores.preferences.contract import PreferenceStore
from sophon.stores.rate_windows.contract import RateWindowStore
from sophon.stores.route_averages.contract import RouteAverageStore
from sophon.stores.runs.contract import RunStore
from sophon.stores.schedules.contract import ScheduleStore
from sophon.stores.sessions.contract import SessionStore
from sophon.stores.snapshots.contract import SnapshotStore
from sophon.stores.sub_agents.contract import SubAgentStore
from sophon.stores.texts.contract import TextStore
from sophon.stores.tool_call_journal.contract import Journal
from sophon.stores.traces.contract import TraceStore
from sophon.stores.trajectories.contract import TrajectoryStore
from sophon.stores.usage.contract import UsageStore
from sophon.stores.vectors.contract import VectorStore

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off before an operation is repeated; as for providers (reference/sophon.md)."""

CHECK_INTERVAL_SECONDS = 1.0
"""Interval at which a waiting operation asks whether it may still wait, besides being cancelled."""


class WaitingStore:
    """Store whose operations wait while `store` is unavailable, as long as `may_wait` returns True.

    Without that they raise StoreUnavailable, as the store itself does. Somebody else must probe the store meanwhile
    (`StoreMonitor` in a host). `open`, `close` and `maintenance` are those of the store.
    """

    sessions: SessionStore
    usage: UsageStore
    approvals: ApprovalStore
    attachments: AttachmentStore
    api_tokens: ApiTokenStore
    audit: AuditStore
    data_labels: DataLabelStore
    goals: GoalStore
    grants: GrantStore
    preferences: PreferenceStore
    journal: Journal
    leases: LeaseStore
    memories: MemoryStore
    message_search: MessageSearch
    persons: PersonStore
    rate_windows: RateWindowStore
    schedules: ScheduleStore
    snapshots: SnapshotStore
    sub_agents: SubAgentStore
    traces: TraceStore
    trajectories: TrajectoryStore
    vectors: VectorStore
    route_averages: RouteAverageStore
    runs: RunStore
    outbox: Outbox
    events: EventLog
    texts: TextStore
    channel_state: ChannelStateStore

    def __init__(self, store: Store, clock: Clock, may_wait: Callable[[], bool]) -> None:
        self._store, self._clock, self._may_wait = store, clock, may_wait

    def __getattr__(self, name: str) -> Any:
        """Make the repository `name` when it is first used: a turn uses few of them."""
        if name not in WaitingStore.__annotations__:
            raise AttributeError(name)
        repository = self.__dict__[name] = _WaitingRepository(getattr(self._store, name), self._repeat)
        return repository

    @property
    def health(self) -> StoreHealth:
        """The health of the store."""
        return self._store.health

    @property
    def maintenance(self) -> StoreMaintenance:
        """The maintenance of the store, which does not wait."""
        return self._store.maintenance

    async def open(self) -> None:
        """Open the store."""
        await self._store.open()

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()

    async def _repeat(self, operation: Callable[[], Awaitable[Any]]) -> Any:
        backoff_seconds = INITIAL_BACKOFF_SECONDS
        while True:
            try:
                return await operation()
            except StoreUnavailable:
                if not self._may_wait():
                    raise
                await self._wait_until_writable()
                await self._clock.sleep(backoff_seconds)
            backoff_seconds = min(backoff_seconds * 2, MAX_BACKOFF_SECONDS)

    async def _wait_until_writable(self) -> None:
        """Wait at most until nobody may wait any more: within a shielded scope, a cancellation does not arrive."""
        while not self._store.health.is_writable and self._may_wait():
            try:
                async with self._clock.timeout(CHECK_INTERVAL_SECONDS):
                    await self._store.health.wait_until_writable()
            except TimeoutError:
                continue


class _WaitingRepository:
    """A repository each of whose coroutine methods is repeated by `repeat`."""

    def __init__(self, repository: object, repeat: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]) -> None:
        self._repository, self._repeat = repository, repeat

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._repository, name)
        if not inspect.iscoroutinefunction(operation):
            return operation

        async def repeated(*arguments: Any, **named: Any) -> Any:
            return await self._repeat(lambda: operation(*arguments, **named))

        self.__dict__[name] = repeated
        return repeated
