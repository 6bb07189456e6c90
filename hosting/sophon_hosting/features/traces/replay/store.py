"""Store of a replay: in memory, with the session up to the message; budgets are the host's, other data is only read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, cast

from sophon.clock import Clock
from sophon.preferences import Preferences
from sophon.stores.preferences.contract import PreferenceStore
from sophon.stores.route_averages.route_average import RouteAverage, RouteObservation
from sophon.stores.route_averages.sql import RouteAverageStore
from sophon.stores.vectors.contract import VectorRow, VectorStore
from sophon_hosting.features.traces.replay.recorded_turn import RecordedTurn
from sophon_hosting.off_the_record.store import NamelessUsage, ReadOnlyMemories
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.sql_host_store import SqlHostStore

REPLAY_USAGE: Final = "replay"
"""Session and run of the usage of replays: it counts in budgets and totals, and in no session."""


class ReplayStore:
    """Store of one replay. What it writes is in memory and gone with it, except for usage."""

    def __init__(self, durable: HostStore, clock: Clock) -> None:
        self._memory = SqlHostStore(
            "memory://",
            clock=clock,
            usage=NamelessUsage(durable.usage, REPLAY_USAGE),
            memories=ReadOnlyMemories(durable.memories),
            preferences=ReadOnlyPreferences(durable.preferences),
        )
        self.route_averages = ReadOnlyRouteAverages(durable.route_averages)
        self.vectors = ReadOnlyVectors(durable.vectors)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)


async def create_replay_store(durable: HostStore, clock: Clock, turn: RecordedTurn) -> HostStore:
    """Return the store of a replay of a turn, with the history that the turn had."""
    store = cast(HostStore, ReplayStore(durable, clock))
    if turn.history:
        await store.sessions.append(turn.session_id, turn.history, owner=turn.owner)
    else:
        await store.sessions.get_or_create(turn.session_id, turn.owner)
    return store


class ReadOnlyPreferences:
    """Preferences that are not changed; see `PreferenceStore`."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    async def get(self, person: str) -> Preferences:
        """See `PreferenceStore.get`."""
        return await self._preferences.get(person)

    async def put(self, person: str, preferences: Preferences) -> None:
        """Do nothing."""


class ReadOnlyRouteAverages:
    """Averages of routing to which nothing is added; see `RouteAverageStore`."""

    def __init__(self, averages: RouteAverageStore) -> None:
        self._averages = averages

    async def add(self, observations: Sequence[RouteObservation]) -> None:
        """Do nothing."""

    async def list_all(self) -> list[RouteAverage]:
        """See `RouteAverageStore.list_all`."""
        return await self._averages.list_all()

    async def reset(self) -> int:
        """Do nothing."""
        return 0


class ReadOnlyVectors:
    """Vectors that are not changed; see `VectorStore`."""

    def __init__(self, vectors: VectorStore) -> None:
        self._vectors = vectors

    async def put(self, rows: Sequence[VectorRow]) -> None:
        """Do nothing."""

    async def load(self, namespace: str, embedder: str, limit: int) -> list[VectorRow]:
        """See `VectorStore.load`."""
        return await self._vectors.load(namespace, embedder, limit)

    async def list_versions(self, namespace: str, embedder: str, limit: int) -> Mapping[str, int]:
        """See `VectorStore.list_versions`."""
        return await self._vectors.list_versions(namespace, embedder, limit)

    async def load_keys(self, namespace: str, embedder: str, keys: Sequence[str]) -> list[VectorRow]:
        """See `VectorStore.load_keys`."""
        return await self._vectors.load_keys(namespace, embedder, keys)

    async def load_after(self, namespace: str, embedder: str, number: int, limit: int) -> tuple[list[VectorRow], int]:
        """See `VectorStore.load_after`."""
        return await self._vectors.load_after(namespace, embedder, number, limit)

    async def delete(self, namespace: str, keys: Sequence[str] | None = None) -> int:
        """Do nothing."""
        return 0

    async def count(self, namespace: str) -> int:
        """See `VectorStore.count`."""
        return await self._vectors.count(namespace)

    async def expire(self, namespace: str, before: datetime | None, keep: int) -> int:
        """Do nothing."""
        return 0
