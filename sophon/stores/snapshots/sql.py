"""SQL metadata of snapshots: a row per snapshot, and a row per owner with the ends of the chain."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from sophon.clock import to_utc
from sophon.security.audit.audit_chain import GENESIS, chain_entry
from sophon.stores.audit.audit_event import AuditChainState, AuditVerification
from sophon.stores.audit.sql import verify_entries
from sophon.stores.snapshots.stored_snapshot import SNAPSHOT_COLUMNS, SnapshotEvent, SnapshotFile, StoredSnapshot
from sophon.stores.sql.batched_deletion import EXPIRE_BATCH_SIZE, write_in_batches
from sophon.stores.sql.repository import Repository, in_parts
from sophon.stores.sql.schema import snapshot_chains, snapshots
from sophon.stores.unit_of_work import WriteKind

EMPTY_CHAIN = AuditChainState(0, GENESIS, 0, GENESIS)

_STATE = select(
    *(snapshot_chains.c.last_number, snapshot_chains.c.last_hash),
    *(snapshot_chains.c.anchor_number, snapshot_chains.c.anchor_hash),
)


class SnapshotStore(Repository):
    """Repository of the snapshots' metadata. No operation changes an entry."""

    async def add(self, events: Sequence[SnapshotEvent]) -> None:
        """Append entries to the chains of their owners, all or none."""
        if events:
            await self._database.add(WriteKind.SNAPSHOT, partial(add_snapshots, events=tuple(events)))

    async def list(self, owner: str, *, before: int | None = None, limit: int = 100) -> list[StoredSnapshot]:
        """Return an owner's snapshots, the newest first; `before` is the last number of the previous page."""
        query = select(snapshots).where(snapshots.c.owner == owner)
        if before is not None:
            query = query.where(snapshots.c.number < before)
        query = query.order_by(snapshots.c.number.desc()).limit(max(limit, 0))
        return await self._database.read(
            lambda connection: [_snapshot(row) for row in connection.execute(query).mappings()]
        )

    async def find(self, owner: str, number: int) -> StoredSnapshot | None:
        """Return one snapshot; None if the owner has none of that number."""
        found = await self.list(owner, before=number + 1, limit=1)
        return found[0] if found and found[0].number == number else None

    async def list_owners(self) -> Sequence[str]:
        """Return the owners who have snapshots, sorted."""
        query = select(snapshots.c.owner).distinct()
        return sorted(await self._database.read(lambda connection: connection.execute(query).scalars().all()))

    async def verify(self, owner: str) -> AuditVerification:
        """Check every hash, and that no entry is missing between the two ends of the owner's chain.

        Reads one snapshot of the database, so that a host may add meanwhile.
        """
        return await self._database.read(partial(_verify, owner=owner))

    async def find_ids(self, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that an entry has."""
        found: set[str] = set()
        for part in in_parts(ids):
            query = select(snapshots.c.id).where(snapshots.c.id.in_(part))
            found.update(await self._database.read(partial(_read_ids, query=query)))
        return frozenset(found)

    async def expire(self, before: datetime | None, keep: int) -> int:
        """Delete the oldest entries of each owner: all but the newest `keep`, and those older than a time.

        Return how many. The chains stay valid. Uses a transaction per owner and batch.
        """
        owners = await self.list_owners()
        expire = partial(_expire, before=before, keep=keep)
        return sum([await write_in_batches(self._database, partial(expire, owner=owner)) for owner in owners])


def add_snapshots(connection: Connection, events: Sequence[SnapshotEvent]) -> None:
    """Chain and insert entries, in the caller's transaction: the numbers of concurrent ones follow each other."""
    for event in events:
        to_utc(event.at)  # raises ValueError for a time without a zone, before anything is written
    for event in events:
        state = _read_state(connection, event.owner)
        is_new = state is None
        snapshot = _chain_snapshot(state or EMPTY_CHAIN, event)
        connection.execute(insert(snapshots).values(**_row(snapshot)))
        ends: dict[str, Any] = {"last_number": snapshot.number, "last_hash": snapshot.hash}
        if is_new:
            anchor = {"anchor_number": EMPTY_CHAIN.anchor_number, "anchor_hash": EMPTY_CHAIN.anchor_hash}
            connection.execute(insert(snapshot_chains).values(owner=event.owner, **ends, **anchor))
        else:
            connection.execute(update(snapshot_chains).where(snapshot_chains.c.owner == event.owner).values(**ends))


def _row(snapshot: StoredSnapshot) -> dict[str, Any]:
    event = snapshot.event
    return {
        **{name: getattr(event, name) for name in SNAPSHOT_COLUMNS},
        "number": snapshot.number,
        "at": event.at,
        "files": [file.to_json() for file in event.files],
        "previous_hash": snapshot.previous_hash,
        "hash": snapshot.hash,
    }


def _snapshot(columns: RowMapping) -> StoredSnapshot:
    """Return the snapshot of a row. What is verified is what the columns say."""
    texts = {name: columns[name] for name in SNAPSHOT_COLUMNS}
    files = [SnapshotFile(**each) for each in columns["files"]]
    event = SnapshotEvent(at=columns["at"], files=files, **texts)
    return StoredSnapshot(columns["number"], event, columns["previous_hash"], columns["hash"])


def _read_state(connection: Connection, owner: str) -> AuditChainState | None:
    """Return the ends of a chain; a write transaction has exclusive access from its first statement on."""
    found = connection.execute(_STATE.where(snapshot_chains.c.owner == owner)).one_or_none()
    return AuditChainState(*found) if found is not None else None


def _read_ids(connection: Connection, query: Any) -> list[str]:
    return list(connection.execute(query).scalars())


def _verify(connection: Connection, owner: str) -> AuditVerification:
    rows = connection.execute(select(snapshots).where(snapshots.c.owner == owner).order_by(snapshots.c.number))
    state = _read_state(connection, owner) or EMPTY_CHAIN
    return verify_entries((_snapshot(row).to_entry() for row in rows.mappings()), state)


def _expire(connection: Connection, owner: str, before: datetime | None, keep: int) -> int:
    """Delete the oldest entries, at most `EXPIRE_BATCH_SIZE`: what is left is a valid chain after each batch."""
    is_own = snapshots.c.owner == owner
    chain = select(snapshots.c.number, snapshots.c.at, snapshots.c.hash).where(is_own).order_by(snapshots.c.number)
    total = connection.execute(select(func.count()).where(is_own)).scalar_one()
    entries = connection.execute(chain.limit(EXPIRE_BATCH_SIZE)).all()
    count = min(_count_expired([row.at for row in entries], before, keep - (total - len(entries))), len(entries))
    if not count:
        return 0
    last = entries[count - 1]
    ends = {"anchor_number": last.number, "anchor_hash": last.hash}
    connection.execute(update(snapshot_chains).where(snapshot_chains.c.owner == owner).values(**ends))
    old = (snapshots.c.owner == owner) & (snapshots.c.number <= last.number)
    return connection.execute(delete(snapshots).where(old)).rowcount


def _chain_snapshot(state: AuditChainState, event: SnapshotEvent) -> StoredSnapshot:
    """Return the snapshot that follows the newest one of a chain."""
    previous = StoredSnapshot(state.number, event, "", state.hash).to_entry() if state.number else None
    entry = chain_entry(previous, event.build_fields(), {}, {})
    return StoredSnapshot(entry.number, event, entry.previous_hash, entry.hash)


def _count_expired(times: Sequence[datetime], before: datetime | None, keep: int) -> int:
    """Return how many of the oldest entries are deleted: the chain is only cut at its beginning."""
    old = 0
    if before is not None:
        old = next((index for index, at in enumerate(times) if at >= before), len(times))
    return max(old, len(times) - keep)
