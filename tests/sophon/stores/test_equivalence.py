"""Whatever is done to them, the dictionaries of a chain and the store in SQL give the same answers."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from sophon.errors import SophonError
from sophon.messages import Message, ToolCall, ToolResult, Usage
from sophon.stores import (
    InMemoryStore,
    MemoryEntry,
    Period,
    ProviderLimits,
    Reservation,
    SessionRecord,
    Store,
    UsageRow,
)
from sophon.testing import VirtualClock
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import copy_database
from tests.properties import examples

names = st.sampled_from(["a", "A", "a/b", "a/B", "é", "\ud83d", "x\x00"])
texts = st.one_of(st.sampled_from(["cat", "cats and dogs", "the dog"]), st.text(max_size=12))
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    texts,
    st.lists(st.builds(ToolCall, names, names, st.dictionaries(texts, st.integers() | texts, max_size=2)), max_size=1),
)
records = st.one_of(
    st.builds(SessionRecord, st.just("message"), names, messages),
    st.builds(lambda m, n: SessionRecord("compaction", "r", m, {"covers": n}), messages, st.integers(0, 9)),
    st.builds(SessionRecord, st.sampled_from(["failed", "refused"]), names, st.none(), st.dictionaries(texts, texts)),
)
usages = st.builds(Usage, *[st.integers(0, 60)] * 4)
periods = st.sampled_from(
    [Period("2026-01-30", "2026-01"), Period("2026-01-31", "2026-01"), Period("2026-02-01", "2026-02")]
)
limits = st.builds(ProviderLimits, *[st.none() | st.integers(0, 200)] * 2)


class TwoStores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp())
        copy_database(self.folder, "s.db")
        self.clock = VirtualClock(auto=False)
        sql = SqlHostStore("sqlite:///s.db", folder=self.folder, clock=self.clock)
        self.stores: list[Store] = [InMemoryStore(clock=self.clock), sql]
        self.claims: list[list[Reservation]] = [[], []]
        self.runner.run(sql.open())

    def teardown(self) -> None:
        self.runner.run(self.stores[1].close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def both(self, do: Callable[[Store], Awaitable[Any]]) -> list[Any]:
        async def attempt(store: Store) -> Any:
            try:
                return await do(store)
            except SophonError as error:
                return type(error), str(error)

        return [self.runner.run(attempt(store)) for store in self.stores]

    def same(self, do: Callable[[Store], Awaitable[Any]]) -> None:
        one, other = self.both(do)
        assert one == other

    @rule(session=names, new=st.lists(records, max_size=3), owner=names)
    def append(self, session: str, new: list[SessionRecord], owner: str) -> None:
        self.same(lambda store: store.sessions.append(session, new, owner=owner))

    @rule(session=names, new=names, upto=st.none() | st.integers(-1, 4))
    def fork(self, session: str, new: str, upto: int | None) -> None:
        self.same(lambda store: store.sessions.fork(session, new, upto=upto))

    @rule(session=names, text=texts, model=st.none() | names)
    def change(self, session: str, text: str, model: str | None) -> None:
        self.same(lambda store: store.sessions.rename(session, text))
        self.same(lambda store: store.sessions.set_model(session, model))

    @rule(session=names)
    def delete(self, session: str) -> None:
        self.same(lambda store: store.sessions.delete(session))

    @rule(session=names, after=st.integers(-1, 5), owner=st.none() | names)
    def read(self, session: str, after: int, owner: str | None) -> None:
        self.same(lambda store: store.sessions.load_history(session))
        self.same(lambda store: store.sessions.list_records(session, after))
        self.same(lambda store: store.sessions.get(session))
        self.same(lambda store: store.sessions.list(owner))

    @rule(provider=names, period=periods, claim=usages, limit=limits)
    def reserve(self, provider: str, period: Period, claim: Usage, limit: ProviderLimits) -> None:
        answers = self.both(lambda store: store.usage.reserve(provider, period, claim, limit))
        if isinstance(answers[0], Reservation) and isinstance(answers[1], Reservation):
            for claims, answer in zip(self.claims, answers, strict=True):
                claims.append(answer)
        else:
            assert answers[0] == answers[1]

    @rule(which=st.integers(0, 5), usage=usages, period=periods, session=names, settle=st.booleans())
    def end(self, which: int, usage: Usage, period: Period, session: str, settle: bool) -> None:
        if which >= len(self.claims[0]):
            return
        for_store = {id(s): claims[which] for s, claims in zip(self.stores, self.claims, strict=True)}
        if settle:
            at = datetime(2026, 1, 1, tzinfo=UTC)
            row = UsageRow(self.claims[0][which].provider, "m", "reply", session, "r", usage, period, at)
            self.same(lambda store: store.usage.settle(for_store[id(store)], row))
        else:
            self.same(lambda store: store.usage.release(for_store[id(store)]))

    @rule(provider=names, period=periods, session=st.none() | names)
    def books(self, provider: str, period: Period, session: str | None) -> None:
        self.same(lambda store: store.usage.get_spending(provider, period))
        self.same(lambda store: store.usage.reserved())
        self.same(lambda store: store.usage.list_totals(since=period.day, session_id=session))

    @rule(run=names, call=names, text=texts, forget=names)
    def journal(self, run: str, call: str, text: str, forget: str) -> None:
        self.same(lambda store: store.journal.start(run, call, "t"))
        if text:
            self.same(lambda store: store.journal.finish(run, ToolResult(call, "t", text)))
        self.same(lambda store: store.journal.delete(forget))
        self.same(lambda store: store.journal.load_entries(run))

    @rule(entry=names, text=texts, scope=names, query=texts, forget=names)
    def memory(self, entry: str, text: str, scope: str, query: str, forget: str) -> None:
        self.same(lambda store: store.memories.write(MemoryEntry(entry, text, scope=scope)))
        self.same(lambda store: store.memories.search(query, limit=3))
        self.same(lambda store: store.memories.delete(forget))
        self.same(lambda store: store.memories.list_all(scope=scope))


TwoStores.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=30, deadline=None)
test_both_stores_give_the_same_answers = TwoStores.TestCase
