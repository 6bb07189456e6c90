"""A history is read on from where the last load ended; what is cached of it is never older than the database."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from sqlalchemy import Connection

from sophon.messages import Compaction, Message, ToolCall
from sophon.stores import SessionRecord, Store
from sophon.stores.sessions import sql_history
from sophon.stores.sessions.history_cache import CachedHistory, HistoryCache, estimate_bytes
from sophon.stores.sessions.sql_history import PIECE_BYTES, PIECE_RECORDS, load_history
from sophon.testing import VirtualClock
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.databases import SQLITE, copy_database

AT = datetime(2026, 11, 23, tzinfo=UTC)


def said(*texts: str) -> list[SessionRecord]:
    return [SessionRecord("message", "r", Message("user", text)) for text in texts]


def history_of(*texts: str, last_seq: int = 1, number: int = 1) -> CachedHistory:
    messages = [Message("user", text) for text in texts]
    return CachedHistory((number, AT), last_seq, messages, None, sum(map(estimate_bytes, messages)))


async def texts(store: Store) -> list[str]:
    return [message.content for message in (await store.sessions.load_history("s")).messages]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        postgres.without_rows()
        return postgres.MIGRATED
    copy_database(tmp_path)
    return SQLITE


TwoStores: TypeAlias = tuple[SqlHostStore, SqlHostStore]


@pytest.fixture
async def stores(database_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[TwoStores]:
    """Two stores over one database, as a host and a worker in another process have them."""
    one, other = (host_store_from_url(database_url, folder=tmp_path, clock=clock) for _ in range(2))
    assert isinstance(one, SqlHostStore)
    assert isinstance(other, SqlHostStore)
    await one.open()
    await other.open()
    yield one, other
    await one.close()
    await other.close()


class CountingDatabase:
    """A database that notes how many messages each read returned."""

    def __init__(self, store: SqlHostStore) -> None:
        self._database = store.sessions._database
        self.sizes: list[int] = []

    async def read(self, work: Callable[[Connection], Any]) -> Any:
        piece = await self._database.read(work)
        self.sizes.append(len(piece.messages) if piece is not None else 0)
        return piece


async def test_a_second_load_decodes_only_what_is_new(stores: TwoStores) -> None:
    store, _ = stores
    await store.sessions.append("s", said("a", "b"))
    first = await store.sessions.load_history("s")
    await store.sessions.append("s", said("c"))
    database, cache = CountingDatabase(store), store.sessions.history_cache
    second = await load_history(database, cache, "s")  # type: ignore[arg-type]
    assert [message.content for message in second.messages] == ["a", "b", "c"]
    assert all(one is other for one, other in zip(first.messages, second.messages, strict=False))
    assert database.sizes == [1]
    third = await load_history(database, cache, "s")  # type: ignore[arg-type]
    assert [message.content for message in third.messages] == ["a", "b", "c"]
    assert third.messages[2] is second.messages[2]
    assert database.sizes == [1, 0]


async def test_what_another_process_appended_is_there(stores: TwoStores) -> None:
    store, other = stores
    await store.sessions.append("s", said("a"))
    assert await texts(store) == await texts(other) == ["a"]
    await other.sessions.append("s", said("b"))
    await store.sessions.append("s", said("c"))
    assert await texts(store) == await texts(other) == ["a", "b", "c"]


async def test_a_session_that_another_process_deleted_and_made_again_is_another_one(
    stores: TwoStores, clock: VirtualClock
) -> None:
    store, other = stores
    await store.sessions.append("s", said("secret", "old"))
    assert await texts(store) == ["secret", "old"]
    await other.sessions.delete("s")
    await clock.advance(1)
    await other.sessions.append("s", said("new", "owner"))
    assert await texts(store) == ["new", "owner"]
    await other.sessions.delete("s")
    assert await texts(store) == []
    await clock.advance(1)
    await other.sessions.append("s", said("third"))
    assert await texts(store) == ["third"]


async def test_a_session_that_is_deleted_and_made_again_at_the_same_moment_is_another_one(
    stores: TwoStores,
) -> None:
    store, _ = stores
    await store.sessions.append("s", said("old"))
    assert await texts(store) == ["old"]
    await store.sessions.delete("s")
    await store.sessions.append("s", said("new"))
    assert await texts(store) == ["new"]


async def test_a_compaction_and_the_chosen_model_are_those_of_the_database(
    stores: TwoStores,
) -> None:
    store, other = stores
    await store.sessions.append("s", said("a", "b"))
    assert (await store.sessions.load_history("s")).compaction is None
    summary = Message("user", "summary", origin="compaction")
    await other.sessions.append("s", [SessionRecord("compaction", "r", summary, data={"covers": 1})])
    await other.sessions.set_model("s", "big")
    for _ in range(2):
        history = await store.sessions.load_history("s")
        assert (history.compaction, history.model) == (Compaction(summary, 1), "big")
    await store.sessions.append("s", said("c"))
    history = await store.sessions.load_history("s")
    assert (history.compaction, len(history.messages)) == (Compaction(summary, 1), 3)


async def test_a_fork_has_a_history_of_its_own(stores: TwoStores) -> None:
    store, _ = stores
    await store.sessions.append("s", said("a", "b"))
    await store.sessions.load_history("s")
    await store.sessions.fork("s", "t", upto=1)
    await store.sessions.append("t", said("c"))
    assert [message.content for message in (await store.sessions.load_history("t")).messages] == ["a", "c"]
    assert await texts(store) == ["a", "b"]


async def test_the_list_of_a_load_belongs_to_its_caller(stores: TwoStores) -> None:
    store, _ = stores
    await store.sessions.append("s", said("a", "b"))
    for _ in range(3):
        (await store.sessions.load_history("s")).messages.clear()
    assert await texts(store) == ["a", "b"]


async def test_a_long_history_is_read_in_pieces(stores: TwoStores) -> None:
    store, _ = stores
    names = [str(number) for number in range(3 * PIECE_RECORDS)]
    await store.sessions.append("s", [*said(*names), SessionRecord("cancelled", "r"), *said("last")])
    database = CountingDatabase(store)
    history = await load_history(database, HistoryCache(), "s")  # type: ignore[arg-type]
    assert [message.content for message in history.messages] == [*names, "last"]
    assert database.sizes == [PIECE_RECORDS] * 3 + [1]


async def test_a_piece_ends_after_so_many_bytes(stores: TwoStores) -> None:
    store, _ = stores
    long = [str(number) * (PIECE_BYTES // 2) for number in range(5)]
    await store.sessions.append("s", said(*long))
    database = CountingDatabase(store)
    history = await load_history(database, HistoryCache(), "s")  # type: ignore[arg-type]
    assert [message.content for message in history.messages] == long
    assert database.sizes == [2, 2, 1]


async def test_what_is_appended_between_two_pieces_is_part_of_the_history(
    stores: TwoStores, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = stores
    await store.sessions.append("s", said(*"abc"))
    monkeypatch.setattr(sql_history, "PIECE_RECORDS", 2)

    class Appending(CountingDatabase):
        async def read(self, work: Callable[[Connection], Any]) -> Any:
            if len(self.sizes) == 1:
                await other.sessions.append("s", said("d", "e"))
            return await super().read(work)

    history = await load_history(Appending(store), store.sessions.history_cache, "s")  # type: ignore[arg-type]
    assert "".join(message.content for message in history.messages) == "abcde"
    assert "".join(await texts(store)) == "abcde"


async def test_what_was_read_before_a_deletion_is_not_cached_after_it(
    stores: TwoStores,
) -> None:
    store, _ = stores
    await store.sessions.append("s", said("old"))

    class Deleting(CountingDatabase):
        async def read(self, work: Callable[[Connection], Any]) -> Any:
            piece = await super().read(work)
            await store.sessions.delete("s")
            return piece

    await load_history(Deleting(store), store.sessions.history_cache, "s")  # type: ignore[arg-type]
    assert store.sessions.history_cache.get("s") is None
    await store.sessions.append("s", said("new"))  # the same number and time as the old one
    assert await texts(store) == ["new"]


async def test_facts_of_a_concurrent_turn_about_more_messages_are_left_out(
    stores: TwoStores,
) -> None:
    store, _ = stores
    await store.sessions.append("s", said("a"))
    first = await store.sessions.load_history("s")
    first.prefix_cache |= {"valid": (1, 1), "tokens": (2, 9)}
    assert (await store.sessions.load_history("s")).prefix_cache == {"valid": (1, 1)}
    await store.sessions.append("s", said("b"))
    assert (await store.sessions.load_history("s")).prefix_cache == {"valid": (1, 1), "tokens": (2, 9)}


async def test_twenty_loads_at_once_see_the_whole_history(stores: TwoStores) -> None:
    store, _ = stores
    await store.sessions.append("s", said("a"))

    async def one(number: int) -> int:
        await store.sessions.append("s", said(str(number)))
        return len((await store.sessions.load_history("s")).messages)

    assert max(await asyncio.gather(*map(one, range(20)))) == 21
    assert len(await texts(store)) == 21


async def test_a_closed_store_holds_no_histories(stores: TwoStores) -> None:
    store, _ = stores
    await store.sessions.append("s", said("a"))
    await store.sessions.load_history("s")
    assert store.sessions.history_cache.statistics().histories == 1
    await store.close()
    assert store.sessions.history_cache.statistics().size_bytes == 0
    await store.open()
    assert await texts(store) == ["a"]


def test_the_sessions_that_were_used_longest_ago_are_evicted() -> None:
    one = history_of("x" * 1000)
    cache = HistoryCache(max_bytes=2 * one.size_bytes)
    cache.put("a", one, 0)
    cache.put("b", one, 0)
    cache.get("a")
    cache.put("c", one, 0)
    assert [cache.get(name) is one for name in "abc"] == [True, False, True]
    assert (cache.statistics().histories, cache.statistics().size_bytes) == (2, 2 * one.size_bytes)


def test_a_history_larger_than_the_cache_evicts_nothing_and_is_not_kept() -> None:
    small, large = history_of("x"), history_of("x" * 10_000, last_seq=2)
    cache = HistoryCache(max_bytes=small.size_bytes)
    cache.put("a", small, 0)
    cache.put("b", large, 0)
    assert (cache.get("a"), cache.get("b")) == (small, None)
    cache.put("a", replace(large, last_seq=3), 0)
    assert cache.statistics() == HistoryCache().statistics()


def test_an_older_history_does_not_replace_a_newer_one_of_the_same_session() -> None:
    cache, newer, older = HistoryCache(), history_of("a", "b", last_seq=2), history_of("a")
    cache.put("s", newer, 0)
    cache.put("s", older, 0)
    assert cache.get("s") is newer
    another = history_of("c", number=2)
    cache.put("s", another, 0)
    assert cache.get("s") is another


def test_a_message_counts_with_its_texts_calls_and_reasoning() -> None:
    plain = estimate_bytes(Message("assistant", ""))
    assert estimate_bytes(Message("assistant", "x" * 5000)) >= plain + 10_000
    call = ToolCall("c", "write", {"text": "x" * 5000})
    assert estimate_bytes(Message("assistant", "", [call])) >= plain + 15_000
