"""Whatever is done to them in whatever order, the store in memory and the one in SQL say the same about runs."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from sophon.errors import SophonError
from sophon.messages import Message
from sophon.stores import (
    InboundKey,
    InMemoryStore,
    LoggedEvent,
    LogWrite,
    OutboundEntry,
    Run,
    RunError,
    RunOutcome,
    SessionRecord,
    Store,
)
from sophon.stores.run_fence import RunFence
from sophon.stores.runs.staged_writes import StagedWrites
from sophon.stores.sql_store import SqlStore
from sophon.testing import VirtualClock
from tests.databases import copy_database
from tests.properties import examples

names = st.sampled_from(["a", "b", "ü \ud83d"])
ids = st.sampled_from([f"r{n}" for n in range(6)])
moments = st.integers(0, 3).map(lambda minutes: datetime(2026, 1, 1, 0, minutes, tzinfo=UTC))
states = st.dictionaries(names, st.none() | st.integers() | st.text(max_size=3), max_size=2)
logs, starts, entries = st.integers(0, 1), st.integers(0, 3), st.lists(names | states, max_size=2)
outcomes = st.sampled_from(
    [RunOutcome("completed", {"text": "x"}), RunOutcome("failed", error=RunError("c", "m")), RunOutcome("cancelled")]
)
statuses = st.none() | st.sampled_from(["queued", "running", "suspended", "completed", "failed", "cancelled"])
limits = st.integers(-1, 4)
logged = st.builds(LoggedEvent, names, states, names)
parts = st.builds(
    OutboundEntry,
    id=st.sampled_from([f"e{n}" for n in range(8)]),
    run_id=st.none() | ids,
    channel=st.just("telegram"),
    account=names,
    chat=names,
    kind=st.just("text"),
    payload=states,
    position=st.integers(0, 3),
    not_before=st.none() | moments,
)
messages = st.builds(Message, st.just("user"), names)
records = st.builds(SessionRecord, st.sampled_from(["message", "failed"]), ids, messages)


class TwoHosts(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = VirtualClock(auto=False)
        copy_database(self.folder, "s.db")
        sql = SqlStore("sqlite:///s.db", folder=self.folder, clock=self.clock)
        self.stores: list[Store] = [InMemoryStore(clock=self.clock), sql]
        self.runner.run(sql.open())

    def teardown(self) -> None:
        self.runner.run(self.stores[1].close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def same(self, do: Callable[[Store], Awaitable[Any]]) -> None:
        async def attempt(store: Store) -> Any:
            try:
                return await do(store)
            except SophonError as error:
                return type(error), str(error)

        one, other = [self.runner.run(attempt(store)) for store in self.stores]
        assert one == other

    async def wait(self, seconds: int) -> None:
        await self.clock.advance(seconds)

    @rule(run=ids, session=names, owner=names, facts=states, key=st.none() | names)
    def accept(self, run: str, session: str, owner: str, facts: dict[str, Any], key: str | None) -> None:
        new = Run(run, session, owner, "telegram", facts, owner, facts)
        known = InboundKey("telegram", "bot", key) if key is not None else None
        self.same(lambda store: store.runs.accept(new, known))
        self.same(lambda store: store.runs.count_ahead(run))
        self.same(lambda store: store.runs.find_by_key(known or InboundKey("telegram", "bot", "unknown")))

    def writes(self, run: str, log: int, start: int, entries: list[Any]) -> list[LogWrite]:
        """A write to a log of a run, from an entry on that it has, or at its end."""
        try:
            known = self.runner.run(self.stores[0].runs.load_logs(run)).get(log, [])
        except SophonError:
            known = []
        return [LogWrite(log, min(start, len(known)), entries)]

    @rule(run=ids, at=moments, state=states, log=logs, start=starts, entries=entries)
    def begin(self, run: str, at: datetime, state: dict[str, Any], log: int, start: int, entries: list[Any]) -> None:
        self.same(lambda store: store.runs.begin(run, at, seen_starts=start or None))
        new = self.writes(run, log, start, entries)
        self.same(lambda store: store.runs.checkpoint(run, state, new, start=start or None))
        self.same(lambda store: store.runs.load_logs(run))

    @rule(run=ids, state=states, waiting=st.lists(names, max_size=2), cancel=st.booleans(), entries=entries)
    def pause(self, run: str, state: dict[str, Any], waiting: list[str], cancel: bool, entries: list[Any]) -> None:
        if cancel:
            self.same(lambda store: store.runs.request_cancel(run))
        new = self.writes(run, 1, 9, entries)
        self.same(lambda store: store.runs.suspend(run, state, waiting, new, start=len(waiting) or None))
        self.same(lambda store: store.runs.load_logs(run))

    @rule(
        run=ids,
        outcome=outcomes,
        said=st.lists(records, max_size=2),
        outbound=st.lists(parts, max_size=2),
        events=st.lists(logged, max_size=2),
        start=st.none() | starts,
        fences=st.lists(st.builds(RunFence, ids, starts), max_size=1),
        unless_running=st.booleans(),
    )
    def finish(
        self,
        run: str,
        outcome: RunOutcome,
        said: list[SessionRecord],
        outbound: list[OutboundEntry],
        events: list[LoggedEvent],
        start: int | None,
        fences: list[RunFence],
        unless_running: bool,
    ) -> None:
        self.same(
            lambda store: store.runs.finish(
                run,
                outcome,
                records=said,
                outbound=outbound,
                events=lambda _: events,
                staged=StagedWrites(fences=fences),
                start=start,
                unless_running=unless_running,
            )
        )
        self.same(lambda store: store.runs.get(run))
        self.same(lambda store: store.runs.load_logs(run))

    @rule(session=st.none() | names, owner=st.none() | names, status=statuses, limit=limits)
    def read(self, session: str | None, owner: str | None, status: Any, limit: int) -> None:
        self.same(lambda store: store.runs.list(session_id=session, owner=owner, status=status, limit=limit))
        self.same(lambda store: store.runs.list_unfinished())
        self.same(lambda store: store.runs.list_unfinished(session))
        self.same(lambda store: store.runs.list_pending())
        self.same(lambda store: store.runs.list_running())
        self.same(lambda store: store.sessions.list(owner))

    @rule(new=st.lists(parts, max_size=3), now=moments, limit=limits)
    def send(self, new: list[OutboundEntry], now: datetime, limit: int) -> None:
        self.same(lambda store: store.outbox.add(new))
        self.same(lambda store: store.outbox.list_due(now, "telegram", limit))

    @rule(entry=st.sampled_from([f"e{n}" for n in range(8)]), move=st.integers(0, 5), at=moments, text=names)
    def move(self, entry: str, move: int, at: datetime, text: str) -> None:
        moves: list[Callable[[Store], Awaitable[Any]]] = [
            lambda store: store.outbox.mark_sending(entry),
            lambda store: store.outbox.mark_sent(entry, text),
            lambda store: store.outbox.mark_refused(entry, at, text),
            lambda store: store.outbox.mark_ambiguous(entry, text, retry_at=at),
            lambda store: store.outbox.mark_dead(entry, text),
            lambda store: store.outbox.recover_interrupted("telegram"),
        ]
        self.same(moves[move])
        self.same(lambda store: store.outbox.list())

    @rule(session=names, new=st.lists(logged, max_size=3), after=limits, limit=limits)
    def log(self, session: str, new: list[LoggedEvent], after: int, limit: int) -> None:
        self.same(lambda store: store.events.append(session, new))
        self.same(lambda store: store.events.list_after(session, after, limit))
        self.same(lambda store: store.events.last_seq(session))

    @rule(session=names, keep=limits, seconds=st.integers(0, 2))
    def drop(self, session: str, keep: int, seconds: int) -> None:
        self.same(lambda store: store.events.trim(session, keep))
        self.runner.run(self.wait(seconds))
        before = self.clock.now() - timedelta(seconds=1)
        self.same(lambda store: store.events.expire(before))

    @rule(session=names, owner=names, new=names, delete=st.booleans())
    def sessions(self, session: str, owner: str, new: str, delete: bool) -> None:
        self.same(lambda store: store.sessions.get_or_create(session, owner))
        self.same(lambda store: store.sessions.fork(session, new))
        if delete:
            self.same(lambda store: store.sessions.delete(new, unless_unfinished=True))
            self.same(lambda store: store.sessions.delete(owner))


TwoHosts.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=30, deadline=None)
test_both_stores_give_the_same_answers_about_runs = TwoHosts.TestCase
