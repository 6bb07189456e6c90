"""In-memory run store."""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sophon.clock import Clock
from sophon.stores.events.in_memory import InMemoryEventLog
from sophon.stores.outbox.contract import OutboundEntry
from sophon.stores.outbox.in_memory import InMemoryOutbox
from sophon.stores.outbox.transitions import assign_run
from sophon.stores.runs.contract import (
    AcceptResult,
    BeginResult,
    FinishResult,
    InboundKey,
    OutcomeEventFactory,
    PendingRun,
    Run,
    RunOutcome,
    RunStatus,
    no_events,
)
from sophon.stores.runs.transitions import (
    SUGGESTION_POOL_SIZE,
    accept_run,
    begin_run,
    check_session_owner,
    finish_run,
    give_to,
    run_id_taken,
    run_not_found,
    suspend_run,
)
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.texts.references import cut_texts


class InMemoryRunStore:
    """The runs of an `InMemoryStore`; see `RunStore`. `rows` maps ids to runs in order of acceptance."""

    def __init__(
        self,
        clock: Clock,
        rows: dict[str, Run],
        sessions: InMemorySessionStore,
        outbox: InMemoryOutbox,
        events: InMemoryEventLog,
    ) -> None:
        self._clock = clock
        self._rows = rows
        self._sessions, self._outbound, self._events = sessions, outbox, events
        self._orders = itertools.count(1)
        self._unfinished: dict[str, None] = {}
        self._queued: set[str] = set()
        self._signalled: set[str] = set()
        self._by_session: defaultdict[str, list[str]] = defaultdict(list)
        self._inbound: dict[InboundKey, str] = {}
        self._keys: dict[str, InboundKey] = {}
        sessions.on_delete(self._delete_session)

    async def accept(
        self, run: Run, key: InboundKey | None = None, *, session_owner: str | None = None
    ) -> AcceptResult:
        """See `RunStore.accept`."""
        known = self._inbound.get(key) if key is not None else None
        if known is not None:
            return AcceptResult(self._rows[known], created=False)
        if run.id in self._rows:
            raise run_id_taken(run.id)
        new = accept_run(run, next(self._orders), self._clock.now())
        check_session_owner(run, (await self._sessions.find(run.session_id)), session_owner)
        await self._sessions.get_or_create(run.session_id, session_owner or run.owner)
        self._rows[run.id] = new
        self._unfinished[run.id] = None
        self._queued.add(run.id)
        self._by_session[run.session_id].append(run.id)
        if key is not None:
            self._inbound[key], self._keys[run.id] = run.id, key
        return AcceptResult(new, created=True)

    async def begin(self, run_id: str, at: datetime) -> BeginResult:
        """See `RunStore.begin`."""
        answer = begin_run(self._get(run_id), at)
        self._rows[run_id] = answer.run
        if answer.verdict == "begun":
            self._queued.discard(run_id)
            self._signalled.discard(run_id)
        return answer

    async def checkpoint(self, run_id: str, state: Mapping[str, Any]) -> bool:
        """See `RunStore.checkpoint`."""
        run = self._get(run_id)
        if run.status != "running":
            return False
        self._rows[run_id] = replace(run, checkpoint=state)
        return True

    async def suspend(self, run_id: str, state: Mapping[str, Any], waiting_for: Sequence[str]) -> Run:
        """See `RunStore.suspend`."""
        found = self._get(run_id)
        run = self._rows[run_id] = suspend_run(found, state, waiting_for)
        if run is not found and not run.waiting_for:
            self.signal(run_id)
        return run

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence[SessionRecord] = (),
        outbound: Sequence[OutboundEntry] = (),
        events: OutcomeEventFactory = no_events,
    ) -> FinishResult:
        """See `RunStore.finish`."""
        run = self._get(run_id)
        if run.is_finished:
            return FinishResult(is_first=False, seq=await self._events.last_seq(run.session_id))
        # The only step that can fail comes first: an invalid record then leaves everything unchanged.
        recorded = await self._sessions.append(run.session_id, records) if records else 0
        await self._outbound.add(assign_run(run_id, outbound))
        seq = await self._events.append(run.session_id, events(recorded))
        self._rows[run_id] = finish_run(run, outcome, self._clock.now())
        self._forget_unfinished(run_id)
        return FinishResult(True, seq, recorded)

    async def request_cancel(self, run_id: str) -> Run:
        """See `RunStore.request_cancel`."""
        run = self._get(run_id)
        if not run.is_finished:
            run = self._rows[run_id] = replace(run, cancel_requested=True)
            self.signal(run_id)
        return run

    def signal(self, run_id: str) -> None:
        """Signal a run (see `RunStore.list_pending`), unless it is unknown or has its outcome."""
        if run_id in self._unfinished:
            self._signalled.add(run_id)

    async def change_owner(self, run_id: str, owner: str) -> Run:
        """See `RunStore.change_owner`."""
        previous = self._get(run_id)
        run = self._rows[run_id] = give_to(previous, owner)
        key = self._keys.get(run_id)
        if key is not None and key.account == previous.owner:
            renamed = replace(key, account=owner)
            if renamed not in self._inbound:
                del self._inbound[key]
                self._inbound[renamed], self._keys[run_id] = run_id, renamed
        return run

    async def get(self, run_id: str) -> Run:
        """See `RunStore.get`."""
        return self._get(run_id)

    async def find(self, run_id: str) -> Run | None:
        """See `RunStore.find`."""
        return self._rows.get(run_id)

    async def find_by_key(self, key: InboundKey) -> Run | None:
        """See `RunStore.find_by_key`."""
        run_id = self._inbound.get(key)
        return None if run_id is None else self._rows[run_id]

    async def count_ahead(self, run_id: str) -> int:
        """See `RunStore.count_ahead`."""
        if self._get(run_id).status != "queued":
            return 0
        before = itertools.takewhile(lambda each: each != run_id, self._unfinished)
        return sum(self._rows[each].status == "queued" for each in before)

    async def expire(self, before: datetime) -> int:
        """See `RunStore.expire`."""
        ended = [run for run in _ended(self._rows, before) if not self._outbound.has_open(run.id)]
        for run in ended:
            self._by_session[run.session_id].remove(run.id)
            self._delete(run.id)
        return len(ended)

    async def expire_keys(self, before: datetime) -> int:
        """See `RunStore.expire_keys`."""
        keys = [self._keys.pop(run.id) for run in _ended(self._rows, before) if run.id in self._keys]
        for key in keys:
            del self._inbound[key]
        return len(keys)

    async def list_unfinished(self, session_id: str | None = None) -> list[Run]:
        """See `RunStore.list_unfinished`."""
        unfinished = (self._rows[run_id] for run_id in self._unfinished)
        return [run for run in unfinished if session_id is None or run.session_id == session_id]

    async def list_pending(self) -> list[PendingRun]:
        """See `RunStore.list_pending`."""
        ids = sorted(self._queued | self._signalled, key=lambda run_id: self._rows[run_id].order)
        return [PendingRun(run_id, run_id in self._signalled) for run_id in ids]

    async def list(
        self,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
        whole: bool = True,
        before: str | None = None,
    ) -> list[Run]:
        """See `RunStore.list`."""
        first = None if before is None else self._get(before)
        among = self._rows if session_id is None else self._by_session.get(session_id, [])
        selected = (
            run
            for run in map(self._rows.__getitem__, reversed(among))
            if (owner is None or run.owner == owner)
            and (status is None or run.status == status)
            and (first is None or run.order < first.order)
        )
        found = itertools.islice(selected, max(limit, 0))
        return [run if whole else replace(run, checkpoint=None, response=cut_texts(run.response)) for run in found]

    def _get(self, run_id: str) -> Run:
        run = self._rows.get(run_id)
        if run is None:
            raise run_not_found(run_id, itertools.islice(reversed(self._rows), SUGGESTION_POOL_SIZE))
        return run

    def _delete_session(self, session_id: str) -> None:
        for run_id in self._by_session.pop(session_id, []):
            self._delete(run_id)

    def _forget_unfinished(self, run_id: str) -> None:
        self._unfinished.pop(run_id, None)
        self._queued.discard(run_id)
        self._signalled.discard(run_id)

    def _delete(self, run_id: str) -> None:
        del self._rows[run_id]
        self._forget_unfinished(run_id)
        self._outbound.delete_run(run_id)
        key = self._keys.pop(run_id, None)
        if key is not None:
            del self._inbound[key]


def _ended(rows: Mapping[str, Run], before: datetime) -> list[Run]:
    return [run for run in rows.values() if run.finished_at is not None and run.finished_at < before]
