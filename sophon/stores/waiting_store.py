"""The store as a running turn sees it: an operation that finds it unavailable waits, and is then repeated.

A turn has paid for the replies and executed the calls that it is about to store. An error would lose them, and the
turn would ask the model again. Repeating is safe, because a refused write has changed nothing (`Database.write`).
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

from sophon.clock import Clock
from sophon.errors import StoreUnavailable
from sophon.stores.contract import Store

INITIAL_BACKOFF_SECONDS = 0.25
MAX_BACKOFF_SECONDS = 8.0
"""Back-off before an operation is repeated; as for providers (Sophon's guide)."""

CHECK_INTERVAL_SECONDS = 1.0
"""Interval at which a waiting operation asks whether it may still wait, besides being cancelled."""


OTHER_ATTRIBUTES = {"health", "maintenance", "in_memory", "file", "open", "close"}
"""Public names of a store that are no repositories."""


class WaitingStore:
    """Store whose operations wait while `store` is unavailable, as long as `may_wait` returns True.

    Without that they raise StoreUnavailable, as the store itself does. Somebody else must probe the store meanwhile
    (`StoreMonitor` in a host). What is no repository is that of the store.
    """

    def __init__(self, store: Store, clock: Clock, may_wait: Callable[[], bool]) -> None:
        self._store, self._clock, self._may_wait = store, clock, may_wait

    def __getattr__(self, name: str) -> Any:
        """Make the repository `name` when it is first used: a turn uses few of them."""
        part = getattr(self._store, name)
        if name in OTHER_ATTRIBUTES or name.startswith("_"):
            return part
        repository = self.__dict__[name] = _WaitingRepository(part, self._repeat)
        return repository

    def part(self, kind: type[Any]) -> Any:
        """Return the repository of a part of the store; see `SqlStore.part`."""
        return _WaitingRepository(cast(Any, self._store).part(kind), self._repeat)

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
