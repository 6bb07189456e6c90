"""Locks by key: what concerns one person, message or album is done one after the other in this process."""

import asyncio
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K")


class KeyLocks(Generic[K]):
    """A lock for each key, kept while somebody holds it or waits for it, so that there are never more than waiters."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[K, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: K) -> asyncio.Lock:
        """Return the lock of a key."""
        return self._locks.setdefault(key, asyncio.Lock())
