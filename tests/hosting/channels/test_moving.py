"""Chats that get a new id: they and their threads stay in their conversations, whatever fails meanwhile."""

from collections.abc import Mapping
from typing import Any

import pytest

from sophon.errors import StoreError
from sophon.stores.memory.store import InMemoryStore
from sophon.stores.note_contracts import Note
from sophon.testing import VirtualClock
from sophon_channels.contract import Place
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.chats import Chats

OLD, NEW = Place("-20", "group"), Place("-100", "group")


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore(clock=VirtualClock())


@pytest.fixture
def chats(store: InMemoryStore) -> Chats:
    return Chats(SyntheticChannel(), store, VirtualClock())


@pytest.mark.parametrize("thread", [None, "7"])
async def test_a_chat_and_its_threads_stay_where_they_are(chats: Chats, thread: str | None) -> None:
    old, new = Place("-20", "group", thread), Place("-100", "group", thread)
    before = await chats.session(old)
    await chats.move("-20", "-100")
    assert await chats.session(new) == before


async def test_a_thread_that_began_anew_stays_in_that(chats: Chats) -> None:
    begun = await chats.begin_session(Place("-20", "group", "7"), "w1")
    await chats.move("-20", "-100")
    assert await chats.session(Place("-100", "group", "7")) == begun
    again = await chats.begin_session(Place("-100", "group", "7"), "w2")
    assert await chats.session(Place("-100", "group", "7")) == again


@pytest.mark.parametrize("kind", ["session", "moved"])
async def test_a_move_that_failed_in_its_middle_is_done_when_it_comes_again(
    chats: Chats, store: InMemoryStore, kind: str
) -> None:
    begun, put = await chats.begin_session(OLD, "w1"), store.notes.put
    failures: list[Mapping[str, Any]] = []

    async def failing(note: Note) -> None:
        if note.kind == kind and not failures:
            failures.append(note.value)
            raise StoreError("memory", "the disk is full")
        await put(note)

    store.notes.put = failing  # type: ignore[method-assign] # a store that fails once
    with pytest.raises(StoreError):
        await chats.move("-20", "-100")
    await chats.move("-20", "-100")
    assert await chats.session(NEW) == begun


async def test_a_chat_that_moves_back_is_where_it_was(chats: Chats) -> None:
    before = await chats.session(OLD)
    await chats.move("-20", "-100")
    await chats.move("-100", "-20")
    assert [await chats.session(OLD), await chats.session(NEW)] == [before, before]
