"""In-memory channel state."""

from dataclasses import replace
from datetime import datetime

from sophon.clock import Clock
from sophon.stores.note_contracts import Note

_EntryKey = tuple[str, str, str, str]


class InMemoryNotes:
    """The notes of an `InMemoryStore`; see `ChannelNotes`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._notes: dict[_EntryKey, Note] = {}

    async def put(self, note: Note) -> None:
        """See `ChannelNotes.put`."""
        self._store(note)

    async def add(self, note: Note) -> bool:
        """See `ChannelNotes.add`."""
        if _key(note) in self._notes:
            return False
        self._store(note)
        return True

    async def get(self, channel: str, account: str, kind: str, key: str) -> Note | None:
        """See `ChannelNotes.get`."""
        return self._notes.get((channel, account, kind, key))

    async def list(self, kind: str, channel: str | None = None, account: str | None = None) -> list[Note]:
        """See `ChannelNotes.list`."""
        return [
            note
            for note in self._notes.values()
            if note.kind == kind and channel in (None, note.channel) and account in (None, note.account)
        ]

    async def remove(self, channel: str, account: str, kind: str, key: str) -> bool:
        """See `ChannelNotes.remove`."""
        return self._notes.pop((channel, account, kind, key), None) is not None

    async def expire(self, kind: str, before: datetime) -> int:
        """See `ChannelNotes.expire`."""
        old = [
            key for key, note in self._notes.items() if note.kind == kind and note.at is not None and note.at < before
        ]
        for key in old:
            del self._notes[key]
        return len(old)

    def _store(self, note: Note) -> None:
        self._notes[_key(note)] = replace(note, value=dict(note.value), at=self._clock.now())


def _key(note: Note) -> _EntryKey:
    return note.channel, note.account, note.kind, note.key
