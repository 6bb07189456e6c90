"""In-memory outbox."""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import NotFound
from sophon.stores.events.contract import EventLog
from sophon.stores.outbound_entry import OutboundEntry, OutboundStatus, is_open, prepare_entries
from sophon.stores.outbox import transitions
from sophon.stores.outbox.contract import DeadLetterEvents


class InMemoryOutbox:
    """The outbox of an `InMemoryStore`; see `Outbox`. `runs` holds the ids of the existing runs."""

    def __init__(self, clock: Clock, runs: Collection[str], events: EventLog) -> None:
        self._events = events
        self._clock = clock
        self._runs = runs
        self._entries: dict[str, OutboundEntry] = {}
        self._open: dict[str, None] = {}
        self._by_run: defaultdict[str, list[str]] = defaultdict(list)

    async def add(self, entries: Sequence[OutboundEntry]) -> int:
        """See `Outbox.add`."""
        new = prepare_entries(entries, self._clock.now())
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

    async def list_due(self, now: datetime, channel: str, limit: int = 100) -> list[OutboundEntry]:
        """See `Outbox.list_due`."""
        due = [
            entry
            for entry in self._first_open(channel)
            if entry.status != "sending" and (entry.not_before is None or entry.not_before <= now)
        ]
        return due[: max(limit, 0)]

    async def find_next_due(self, after: datetime, channel: str) -> datetime | None:
        """See `Outbox.find_next_due`."""
        times = [
            entry.not_before
            for entry in self._first_open(channel)
            if entry.status != "sending" and entry.not_before is not None and entry.not_before > after
        ]
        return min(times, default=None)

    async def mark_sending(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.mark_sending`."""
        return self._store(transitions.mark_sending(self._get(entry_id)))

    async def mark_sent(
        self, entry_id: str, platform_id: str | None = None, *, keep_payload: bool = False
    ) -> OutboundEntry:
        """See `Outbox.mark_sent`."""
        return self._store(transitions.mark_sent(self._get(entry_id), platform_id, keep_payload=keep_payload))

    async def mark_delivered(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.mark_delivered`."""
        return self._store(transitions.mark_delivered(self._get(entry_id)))

    async def mark_failed(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """See `Outbox.mark_failed`."""
        return self._store(transitions.mark_failed(self._get(entry_id), error, reason))

    async def readdress(self, entry_id: str, chat: str) -> OutboundEntry:
        """See `Outbox.readdress`."""
        return self._store(transitions.readdress(self._get(entry_id), chat))

    async def mark_refused(self, entry_id: str, retry_at: datetime, error: str) -> OutboundEntry:
        """See `Outbox.mark_refused`."""
        return self._store(transitions.mark_refused(self._get(entry_id), retry_at, error))

    async def mark_ambiguous(
        self, entry_id: str, error: str = "", *, retry_at: datetime | None = None
    ) -> OutboundEntry:
        """See `Outbox.mark_ambiguous`."""
        return self._store(transitions.mark_ambiguous(self._get(entry_id), error, retry_at))

    async def mark_dead(self, entry_id: str, error: str, reason: str = "") -> OutboundEntry:
        """See `Outbox.mark_dead`."""
        return self._store(transitions.mark_dead(self._get(entry_id), error, reason))

    async def mark_message_dead(self, entry_id: str, error: str, reason: str = "") -> list[OutboundEntry]:
        """See `Outbox.mark_message_dead`."""
        return [self._store(entry) for entry in self._find_dead(entry_id, error, reason, whole_message=True)]

    async def give_up(
        self,
        entry_id: str,
        error: str,
        session_id: str,
        events: DeadLetterEvents,
        *,
        whole_message: bool,
        reason: str = "",
    ) -> tuple[list[OutboundEntry], int]:
        """See `Outbox.give_up`."""
        dead = self._find_dead(entry_id, error, reason, whole_message=whole_message)
        last = await self._events.append(session_id, events(dead))
        return [self._store(entry) for entry in dead], last

    async def withdraw(self, entry_id: str, reason: str) -> OutboundEntry:
        """See `Outbox.withdraw`."""
        return self._store(transitions.withdraw(self._get(entry_id), reason))

    async def retry(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.retry`."""
        return self._store(transitions.retry(self._get(entry_id), self._clock.now()))

    async def postpone(self, entry_id: str, until: datetime) -> OutboundEntry:
        """See `Outbox.postpone`."""
        return self._store(transitions.postpone(self._get(entry_id), until))

    async def clear_penalties(self, channel: str) -> int:
        """See `Outbox.clear_penalties`."""
        entries = [entry for entry in self._list_open() if entry.channel == channel]
        changed = [(entry, transitions.clear_penalty(entry)) for entry in entries]
        return sum(self._store(after) is after for before, after in changed if after != before)

    async def recover_interrupted(self, channel: str) -> list[OutboundEntry]:
        """See `Outbox.recover_interrupted`."""
        interrupted = [entry for entry in self._list_open() if entry.status == "sending"]
        return [self._store(transitions.mark_interrupted(entry)) for entry in interrupted if entry.channel == channel]

    async def expire(self, before: datetime) -> int:
        """See `Outbox.expire`."""
        return self._remove(entry for entry in self._list_before(before) if entry.status == "sent")

    async def expire_dead(self, before: datetime) -> int:
        """See `Outbox.expire_dead`."""
        return self._remove(
            entry for entry in self._list_before(before) if entry.status == "dead" and entry.run_id is None
        )

    def _list_before(self, before: datetime) -> list[OutboundEntry]:
        return [each for each in self._entries.values() if each.created_at is not None and each.created_at < before]

    def _remove(self, entries: Iterable[OutboundEntry]) -> int:
        old = list(entries)
        for entry in old:
            del self._entries[entry.id]
            if entry.run_id is not None:
                self._by_run[entry.run_id].remove(entry.id)
        return len(old)

    async def get(self, entry_id: str) -> OutboundEntry:
        """See `Outbox.get`."""
        return self._get(entry_id)

    async def find_by_platform_id(
        self, channel: str, account: str, platform_id: str, *, chat: str | None = None
    ) -> OutboundEntry | None:
        """See `Outbox.find_by_platform_id`."""
        wanted = (channel, account, platform_id)
        for entry in reversed(self._entries.values()):
            if (entry.channel, entry.account, entry.platform_id) != wanted:
                continue
            if chat is None or entry.chat == chat or entry.chat.startswith(f"{chat}/"):
                return entry
        return None

    async def list(
        self,
        *,
        run_id: str | None = None,
        channel: str | None = None,
        status: OutboundStatus | None = None,
        chat: str | None = None,
        recipient: str | None = None,
        limit: int = 100,
    ) -> list[OutboundEntry]:
        """See `Outbox.list`."""
        selected = (
            entry
            for entry in self._entries.values()
            if (run_id is None or entry.run_id == run_id)
            and (channel is None or entry.channel == channel)
            and (status is None or entry.status == status)
            and (chat is None or entry.chat == chat)
            and (recipient is None or entry.recipient == recipient)
        )
        return list(itertools.islice(selected, max(limit, 0)))

    async def count_dead(self) -> int:
        """See `Outbox.count_dead`."""
        return sum(entry.status == "dead" for entry in self._entries.values())

    def has_open(self, run_id: str) -> bool:
        """Return whether an entry of a run is neither sent nor dead."""
        return any(entry_id in self._open for entry_id in self._by_run.get(run_id, ()))

    def delete_run(self, run_id: str) -> None:
        """Delete the entries of a run."""
        for entry_id in self._by_run.pop(run_id, []):
            del self._entries[entry_id]
            self._open.pop(entry_id, None)

    def forget_recipient(self, person: str) -> int:
        """Delete the entries to a person; return how many."""
        own = [entry for entry in self._entries.values() if entry.recipient == person]
        for entry in own:
            del self._entries[entry.id]
            self._open.pop(entry.id, None)
            if entry.run_id is not None:
                self._by_run[entry.run_id].remove(entry.id)
        return len(own)

    def _get(self, entry_id: str) -> OutboundEntry:
        entry = self._entries.get(entry_id)
        if entry is None:
            raise NotFound("outbound entry", entry_id)
        return entry

    def _find_dead(self, entry_id: str, error: str, reason: str, *, whole_message: bool) -> Sequence[OutboundEntry]:
        """Return what is to be stored as dead letters: an entry, and the other open parts of its message."""
        entry = self._get(entry_id)
        others = [
            other
            for other in (self._list_open() if whole_message else ())
            if other.id != entry_id and other.status != "sending" and transitions.is_same_message(entry, other)
        ]
        return [
            transitions.give_up(entry, error, reason),
            *(transitions.mark_dead(each, error, reason) for each in others),
        ]

    def _list_open(self) -> Sequence[OutboundEntry]:
        return [self._entries[entry_id] for entry_id in self._open]

    def _first_open(self, channel: str) -> Sequence[OutboundEntry]:
        """Return the first open entry of each chat of a channel."""
        first: dict[tuple[str, str], OutboundEntry] = {}
        for entry in self._list_open():
            if entry.channel == channel:
                first.setdefault((entry.account, entry.chat), entry)
        return list(first.values())

    def _store(self, entry: OutboundEntry) -> OutboundEntry:
        was_open = entry.id in self._open
        self._entries[entry.id] = entry
        if not is_open(entry.status):
            self._open.pop(entry.id, None)
        elif not was_open:  # retried: back in its old place
            self._open = {each: None for each in self._entries if each in self._open or each == entry.id}
        return entry
