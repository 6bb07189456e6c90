"""In-memory metadata of snapshots."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from sophon.security.audit_chain import GENESIS, chain_entry
from sophon.stores.audit.contract import AuditChainState, AuditVerification
from sophon.stores.audit.verification import verify_entries
from sophon.stores.snapshots.contract import SnapshotEvent, StoredSnapshot

EMPTY_CHAIN = AuditChainState(0, GENESIS, 0, GENESIS)


class InMemorySnapshotStore:
    """The snapshots of an `InMemoryStore`; see `SnapshotStore`."""

    def __init__(self) -> None:
        self._snapshots: dict[str, list[StoredSnapshot]] = {}
        self._chains: dict[str, AuditChainState] = {}

    async def add(self, events: Sequence[SnapshotEvent]) -> None:
        """See `SnapshotStore.add`."""
        self.put(events)

    def put(self, events: Sequence[SnapshotEvent]) -> None:
        """Add entries."""
        check_snapshot_times(events)
        for event in events:
            state = self._chains.get(event.owner, EMPTY_CHAIN)
            snapshot = chain_snapshot(state, event)
            self._snapshots.setdefault(event.owner, []).append(snapshot)
            self._chains[event.owner] = replace(state, number=snapshot.number, hash=snapshot.hash)

    async def list(self, owner: str, *, before: int | None = None, limit: int = 100) -> list[StoredSnapshot]:
        """See `SnapshotStore.list`."""
        found = (each for each in reversed(self._snapshots.get(owner, ())) if before is None or each.number < before)
        return list(islice(found, max(limit, 0)))

    async def find(self, owner: str, number: int) -> StoredSnapshot | None:
        """See `SnapshotStore.find`."""
        return next((each for each in self._snapshots.get(owner, ()) if each.number == number), None)

    async def list_owners(self) -> Sequence[str]:
        """See `SnapshotStore.list_owners`."""
        return sorted(owner for owner, snapshots in self._snapshots.items() if snapshots)

    async def verify(self, owner: str) -> AuditVerification:
        """See `SnapshotStore.verify`."""
        entries = [each.to_entry() for each in self._snapshots.get(owner, ())]
        return verify_entries(entries, self._chains.get(owner, EMPTY_CHAIN))

    async def find_ids(self, ids: Collection[str]) -> frozenset[str]:
        """See `SnapshotStore.find_ids`."""
        known = {each.event.id for snapshots in self._snapshots.values() for each in snapshots}
        return frozenset(known.intersection(ids))

    async def expire(self, before: datetime | None, keep: int) -> int:
        """See `SnapshotStore.expire`."""
        deleted = 0
        for owner, snapshots in list(self._snapshots.items()):
            count = count_expired([each.event.at for each in snapshots], before, keep)
            if count:
                last = snapshots[count - 1]
                self._chains[owner] = replace(self._chains[owner], anchor_number=last.number, anchor_hash=last.hash)
                del snapshots[:count]
                deleted += count
            if not snapshots:
                del self._snapshots[owner]
        return deleted

    def forget_owner(self, owner: str) -> int:
        """Delete the chain of an owner; return how many snapshots it had."""
        self._chains.pop(owner, None)
        return len(self._snapshots.pop(owner, ()))


def chain_snapshot(state: AuditChainState, event: SnapshotEvent) -> StoredSnapshot:
    """Return the snapshot that follows the newest one of a chain."""
    previous = StoredSnapshot(state.number, event, "", state.hash).to_entry() if state.number else None
    entry = chain_entry(previous, event.build_fields(), {}, {})
    return StoredSnapshot(entry.number, event, entry.previous_hash, entry.hash)


def count_expired(times: Sequence[datetime], before: datetime | None, keep: int) -> int:
    """Return how many of the oldest entries are deleted: the chain is only cut at its beginning."""
    old = 0
    if before is not None:
        old = next((index for index, at in enumerate(times) if at >= before), len(times))
    return max(old, len(times) - keep)


def check_snapshot_times(events: Sequence[SnapshotEvent]) -> None:
    """Raise ValueError for a time without a zone."""
    for event in events:
        if event.at.tzinfo is None:
            raise ValueError(f"{event.at!r} has no time zone; give an aware time")
