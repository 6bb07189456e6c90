"""Chats that get a new id: they and their threads stay in their conversations, whatever fails meanwhile."""

from collections.abc import Mapping
from typing import Any

import pytest

from sophon.errors import StoreError
from sophon.testing import VirtualClock
from sophon_channels.contract import ChatLocation
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.chat_state import ChatState
from sophon_hosting.store.channel_state.channel_state_entry import ChannelStateEntry
from sophon_hosting.store.sql_host_store import SqlHostStore

OLD, NEW = ChatLocation("-20", "group"), ChatLocation("-100", "group")


@pytest.fixture
def store() -> SqlHostStore:
    return SqlHostStore("memory://", clock=VirtualClock())


@pytest.fixture
def chats(store: SqlHostStore) -> ChatState:
    return ChatState(SyntheticChannel(), store, VirtualClock())


@pytest.mark.parametrize("thread", [None, "7"])
async def test_a_chat_and_its_threads_stay_where_they_are(chats: ChatState, thread: str | None) -> None:
    old, new = ChatLocation("-20", "group", thread), ChatLocation("-100", "group", thread)
    before = await chats.current_session(old)
    await chats.migrate_chat("-20", "-100")
    assert await chats.current_session(new) == before


async def test_a_thread_that_began_anew_stays_in_that(chats: ChatState) -> None:
    begun = await chats.start_new_session(ChatLocation("-20", "group", "7"), "w1")
    await chats.migrate_chat("-20", "-100")
    assert await chats.current_session(ChatLocation("-100", "group", "7")) == begun
    again = await chats.start_new_session(ChatLocation("-100", "group", "7"), "w2")
    assert await chats.current_session(ChatLocation("-100", "group", "7")) == again


@pytest.mark.parametrize("kind", ["session", "moved"])
async def test_a_move_that_failed_in_its_middle_is_done_when_it_comes_again(
    chats: ChatState, store: SqlHostStore, kind: str
) -> None:
    begun, put = await chats.start_new_session(OLD, "w1"), store.channel_state.put
    failures: list[Mapping[str, Any]] = []

    async def failing(note: ChannelStateEntry) -> None:
        if note.kind == kind and not failures:
            failures.append(note.value)
            raise StoreError("memory", "the disk is full")
        await put(note)

    store.channel_state.put = failing  # type: ignore[method-assign] # a store that fails once
    with pytest.raises(StoreError):
        await chats.migrate_chat("-20", "-100")
    await chats.migrate_chat("-20", "-100")
    assert await chats.current_session(NEW) == begun


async def test_a_chat_that_moves_back_is_where_it_was(chats: ChatState) -> None:
    before = await chats.current_session(OLD)
    await chats.migrate_chat("-20", "-100")
    await chats.migrate_chat("-100", "-20")
    assert [await chats.current_session(OLD), await chats.current_session(NEW)] == [before, before]
