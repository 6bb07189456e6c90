"""In-memory outbox."""

import itertools
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores import outbound_moves as transitions
from sophon.stores.outbound_contracts import OutboundEntry, OutboundStatus


class InMemoryOutbound:
    """The outbox of an `InMemoryStore`; see `OutboundLedger`. `runs` holds the ids of the existing runs."""

    def __init__(self, clock: Clock, runs: Collection[str]) -> None:
        self._clock = clock
        self._runs = runs
        self._entries: dict[str, OutboundEntry] = {}
        self._open: dict[str, None] = {}
        self._by_run: defaultdict[str, list[str]] = defaultdict(list)

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """See `OutboundLedger.add`."""
        new = transitions.kept(entries, self._clock.now())
        for entry in new:
            if entry.run_id is not None and entry.run_id not in self._runs:
                raise NotFound("run", entry.run_id)
        before = len(self._entries)
        for entry in new:
            if entry.id not in self._entries:
                self._entries[entry.id] = entry
                self._open[entry.id] = None
                if entry.run_id is not None:
                    self._by_run[entry.run_id].append(entry.id)
        return len(self._entries) - before

    async def due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """See `OutboundLedger.due`."""
        first: dict[tuple[str, str], OutboundEntry] = {}
        for entry in map(self._entries.__getitem__, self._open):
            if entry.channel == channel:
                first.setdefault((entry.account, entry.chat), entry)
        due = [
            entry
            for entry in first.values()
            if entry.status != "sending" and (entry.not_before is None or entry.not_before <= now)
        ]
        return due[: max(limit, 0)]

    async def sending(self, entry_id: str) -> OutboundEntry:
        """See `OutboundLedger.sending`."""
        return self._store(transitions.sending(self._get(entry_id)))

    async def sent(self, entry_id: str, platform_id: str | None = None) -> OutboundEntry:
        """See `OutboundLedger.sent`."""
        return self._store(transitions.sent(self._get(entry_id), platform_id))

    async def refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """See `OutboundLedger.refused`."""
        return self._store(transitions.refused(self._get(entry_id), retry_at, error))

    async def ambiguous(self, entry_id: str, error: str = "", *, retry_at: datetime | None = None) -> OutboundEntry:
        """See `OutboundLedger.ambiguous`."""
        return self._store(transitions.ambiguous(self._get(entry_id), error, retry_at))

    async def dead(self, entry_id: str, error: str) -> OutboundEntry:
        """See `OutboundLedger.dead`."""
        return self._store(transitions.dead(self._get(entry_id), error))

    async def interrupted(self, channel: str) -> list[OutboundEntry]:
        """See `OutboundLedger.interrupted`."""
        interrupted = [entry for entry in map(self._entries.__getitem__, self._open) if entry.status == "sending"]
        return [
            self._store(transitions.ambiguous(entry, transitions.LEFT_BEHIND, None))
            for entry in interrupted
            if entry.channel == channel
        ]

    async def get(self, entry_id: str) -> OutboundEntry:
        """See `OutboundLedger.get`."""
        return self._get(entry_id)

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """See `OutboundLedger.list`."""
        selected = (
            entry
            for entry in self._entries.values()
            if (run_id is None or entry.run_id == run_id)
            and (channel is None or entry.channel == channel)
            and (status is None or entry.status == status)
        )
        return list(itertools.islice(selected, max(limit, 0)))

    def forget(self, run_id: str) -> None:
        """Delete the entries of a run."""
        for entry_id in self._by_run.pop(run_id, []):
            del self._entries[entry_id]
            self._open.pop(entry_id, None)

    def _get(self, entry_id: str) -> OutboundEntry:
        entry = self._entries.get(entry_id)
        if entry is None:
            raise NotFound("outbound entry", entry_id)
        return entry

    def _store(self, entry: OutboundEntry) -> OutboundEntry:
        self._entries[entry.id] = entry
        if not transitions.is_open(entry.status):
            self._open.pop(entry.id, None)
        return entry
