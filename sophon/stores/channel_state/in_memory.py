"""In-memory channel state."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sophon.clock import Clock
from sophon.stores.channel_state.contract import ChannelStateEntry

_EntryKey = tuple[str, str, str, str]


class InMemoryChannelStateStore:
    """The notes of an `InMemoryStore`; see `ChannelStateStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notes: dict[_EntryKey, ChannelStateEntry] = {}

    async def put(self, entry: ChannelStateEntry) -> None:
        """See `ChannelStateStore.put`."""
        self._store(entry)

    async def put_many(self, entries: Sequence[ChannelStateEntry]) -> None:
        """See `ChannelStateStore.put_many`."""
        for entry in entries:
            self._store(entry)

    async def add(self, entry: ChannelStateEntry) -> bool:
        """See `ChannelStateStore.add`."""
        if _key(entry) in self._notes:
            return False
        self._store(entry)
        return True

    async def get(self, channel: str, account: str, kind: str, key: str) -> ChannelStateEntry | None:
        """See `ChannelStateStore.get`."""
        return self._notes.get((channel, account, kind, key))

    async def find_keys(self, channel: str, account: str, kind: str, keys: Collection[str]) -> frozenset[str]:
        """See `ChannelStateStore.find_keys`."""
        return frozenset(key for key in keys if (channel, account, kind, key) in self._notes)

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[ChannelStateEntry]:
        """See `ChannelStateStore.list`."""
        return [
            note
            for note in self._notes.values()
            if note.kind == kind and channel in (None, note.channel) and account in (None, note.account)
        ]

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """See `ChannelStateStore.remove`."""
        return self._notes.pop((channel, account, kind, key), None) is not None

    async def expire(self, kind: str, before: datetime) -> int:
        """See `ChannelStateStore.expire`."""
        old = [
            key for key, note in self._notes.items() if note.kind == kind and note.at is not None and note.at < before
        ]
        for key in old:
            del self._notes[key]
        return len(old)

    def _store(self, note: ChannelStateEntry) -> None:
        self._notes[_key(note)] = replace(note, value=dict(note.value), at=self._clock.now())


def _key(note: ChannelStateEntry) -> _EntryKey:
    return note.channel, note.account, note.kind, note.key
