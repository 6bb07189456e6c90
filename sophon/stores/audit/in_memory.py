"""In-memory audit log."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sophon.security.audit_chain import GENESIS, AuditEntry, chain_entry
from sophon.security.audit_head import AuditHead
from sophon.stores.audit.contract import ALL_ENTRIES, AuditChainState, AuditEvent, AuditFilter, AuditVerification
from sophon.stores.audit.verification import verify_entries


class InMemoryAuditStore:
    """The audit log of an `InMemoryStore`; see `AuditStore`.

    Entries are numbered, salted and hashed when something reads the log: a chain protects what is stored from those who
    can change it, and what only this process has needs it once it is shown.
    """

    def __init__(self) -> None:
        self._appended: list[AuditEvent] = []
        """Entries that are not yet part of the chain, in their order."""
        self._chained: list[AuditEntry] = []
        self._last: AuditEntry | None = None
        self._anchor = (0, GENESIS)
        """Number and hash of the newest entry that was deleted."""

    async def append(self, events: Sequence[AuditEvent]) -> None:
        """See `AuditStore.append`."""
        check_times(events)
        self._appended += events

    def put(self, events: Sequence[AuditEvent]) -> None:
        """Append entries."""
        check_times(events)
        self._appended += events

    @property
    def _entries(self) -> list[AuditEntry]:
        """All entries, in the chain."""
        if self._appended:
            self._chain()
        return self._chained

    def _chain(self) -> None:
        appended, self._appended = self._appended, []
        for event in appended:
            self._last = chain_entry(self._last, event.build_fields(), event.texts, event.build_salts())
            self._chained.append(self._last)

    async def list_entries(
        self, wanted: AuditFilter = ALL_ENTRIES, *, before: int | None = None, limit: int = 100
    ) -> list[AuditEntry]:
        """See `AuditStore.list_entries`."""
        found = (
            entry
            for entry in reversed(self._entries)
            if (before is None or entry.number < before) and _fits(entry, wanted)
        )
        return [entry for entry, _ in zip(found, range(max(limit, 0)), strict=False)]

    async def list_after(self, number: int, limit: int = 1000) -> list[AuditEntry]:
        """See `AuditStore.list_after`."""
        return [entry for entry in self._entries if entry.number > number][: max(limit, 0)]

    async def verify(self, head: AuditHead | None = None) -> AuditVerification:
        """See `AuditStore.verify`."""
        entries = self._entries
        newest = (self._last.number, self._last.hash) if self._last is not None else (0, GENESIS)
        return verify_entries(entries, AuditChainState(*newest, *self._anchor), head)

    async def blank_texts(self, *, session_id: str | None = None, principal: str | None = None) -> int:
        """See `AuditStore.blank_texts`."""
        wanted = filter_of_texts(session_id, principal)
        blanked = 0
        for index, entry in enumerate(self._entries):
            if _fits(entry, wanted) and any(text is not None for text in entry.texts.values()):
                self._entries[index] = entry.blanked()
                blanked += 1
        return blanked

    def forget_session(self, session_id: str) -> None:
        """Blank the texts of a session that is deleted."""
        for index, entry in enumerate(self._entries):
            if entry.fields["session_id"] == session_id:
                self._entries[index] = entry.blanked()

    async def expire(self, before: datetime) -> int:
        """See `AuditStore.expire`."""
        limit = before.astimezone(UTC).isoformat(timespec="microseconds")
        count = next(
            (index for index, each in enumerate(self._entries) if each.fields["at"] >= limit), len(self._entries)
        )
        if count:
            last = self._entries[count - 1]
            self._anchor = (last.number, last.hash)
            del self._entries[:count]
        return count


def check_times(events: Sequence[AuditEvent]) -> None:
    """Raise ValueError for a time without a zone."""
    for event in events:
        if event.at.tzinfo is None:
            raise ValueError(f"{event.at!r} has no time zone; give an aware time")


def filter_of_texts(session_id: str | None, principal: str | None) -> AuditFilter:
    """Return which entries are blanked. Raises ValueError without a session and a person: that would be all."""
    if session_id is None and principal is None:
        raise ValueError("name the session or the person whose texts are to be blanked")
    return AuditFilter(session_id=session_id, principal=principal)


def _fits(entry: AuditEntry, wanted: AuditFilter) -> bool:
    if any(entry.fields[name] != value for name, value in wanted.find_wanted().items()):
        return False
    at = datetime.fromisoformat(entry.fields["at"])
    return (wanted.since is None or at >= wanted.since) and (wanted.until is None or at < wanted.until)
