"""What every store promises about pages of the session list."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from sophon.errors import InputError
from sophon.stores import Store
from sophon.stores.sessions.paging import matches_words, split_words, to_like_pattern
from sophon.testing import VirtualClock


async def started(store: Store, clock: VirtualClock, *names: str, owner: str = "ada") -> None:
    for name in names:
        await clock.advance(1)
        await store.sessions.get_or_create(name, owner)


async def pages(store: Store, limit: int, **wanted: str) -> list[str]:
    """The ids of all pages, a page in each text."""
    found, cursor = [], None
    while True:
        page = await store.sessions.list_page(**wanted, limit=limit, cursor=cursor)  # type: ignore[arg-type]
        found.append("".join(session.id for session in page.items))
        cursor = page.next_cursor
        if cursor is None:
            return found


async def test_the_pages_together_are_the_list(store: Store, clock: VirtualClock):
    await started(store, clock, *"abcdefg")
    assert await pages(store, 3) == ["gfe", "dcb", "a"]
    assert await pages(store, 7) == ["gfedcba"]
    assert (await store.sessions.list_page(limit=3)).items == (await store.sessions.list())[:3]


async def test_sessions_of_one_moment_are_on_one_page_each(store: Store):
    for name in "abcde":
        await store.sessions.get_or_create(name, "ada")
    assert await pages(store, 2) == ["ed", "cb", "a"]


async def test_a_page_has_the_sessions_of_its_owner_only_and_counts_them(store: Store, clock: VirtualClock):
    await started(store, clock, *"abc")
    await started(store, clock, *"xyz", owner="bob")
    assert await pages(store, 2, owner="bob") == ["zy", "x"]
    assert (await store.sessions.list_page("ada", limit=1)).total == 3
    assert (await store.sessions.list_page(limit=1)).total == 6
    assert (await store.sessions.list_page("eve")).total == 0


@pytest.mark.parametrize(
    ("search", "found"),
    [
        *(("", "dcba"), ("budget", "ca"), ("BUDGET 2026", "c"), ("  c ", "c"), ("ärger", "b"), ("ÄRGER", "b")),
        *(("50%", "d"), ("5_%", ""), ("5%5", ""), ("猫", "d"), ("kelvin", "b"), ("nothing", ""), ("\\", "d")),
    ],
)
async def test_each_word_of_a_search_is_part_of_the_title_or_the_id(
    store: Store, clock: VirtualClock, search: str, found: str
):
    titles = {"a": "A Budget", "b": "Großer Ärger mit \u212aelvin", "c": "budget 2026", "d": "50% 猫 \\"}
    for name, title in titles.items():
        await started(store, clock, name)
        await store.sessions.rename(name, title)
    page = await store.sessions.list_page(search=search)
    assert ("".join(session.id for session in page.items), page.total) == (found, len(found))


async def test_the_pages_of_a_search_together_are_what_it_finds(store: Store, clock: VirtualClock):
    await started(store, clock, "a1", "b", "c1", "d1", "e")
    assert await pages(store, 2, search="1") == ["d1c1", "a1"]


async def test_sessions_that_come_while_somebody_reads_repeat_and_hide_none(store: Store, clock: VirtualClock):
    await started(store, clock, *"abcd")
    first = await store.sessions.list_page(limit=2)
    await started(store, clock, "new")
    rest = await store.sessions.list_page(limit=2, cursor=first.next_cursor)
    assert [session.id for session in (*first.items, *rest.items)] == ["d", "c", "b", "a"]


async def test_a_page_follows_a_session_that_was_deleted_meanwhile(store: Store, clock: VirtualClock):
    await started(store, clock, *"abcd")
    first = await store.sessions.list_page(limit=2)
    await store.sessions.delete("c")
    rest = await store.sessions.list_page(limit=2, cursor=first.next_cursor)
    assert [session.id for session in rest.items] == ["b", "a"]


async def test_an_offset_skips_sessions(store: Store, clock: VirtualClock):
    await started(store, clock, *"abcd")
    page = await store.sessions.list_page(offset=1, limit=2)
    assert ([session.id for session in page.items], page.total) == (["c", "b"], 4)
    assert (await store.sessions.list_page(offset=9)).items == []


NO_TIME_IN_UTC = base64.urlsafe_b64encode(b"0001-01-01T00:00:00+14:00 s").decode()


@pytest.mark.parametrize("cursor", ["", "x", "é", "MjAyNg", "MjAyNi0wMS0wMSBz", "\ud83d", NO_TIME_IN_UTC])
async def test_an_invalid_cursor_is_refused(store: Store, cursor: str):
    with pytest.raises(InputError, match="the cursor is invalid"):
        await store.sessions.list_page(cursor=cursor)


async def test_any_id_can_be_the_last_of_a_page(store: Store, clock: VirtualClock):
    names = ["größe 🐱 猫", "nul \x00 in it", "lone \ud83d surrogate", " \n\t"]
    await started(store, clock, *names)
    assert await pages(store, 1) == names[::-1]


@given(st.text(max_size=12), st.text(min_size=1, max_size=3))
def test_a_pattern_finds_at_least_what_contains_the_word(title: str, search: str):
    title = title.replace("\0", "")  # SQLite's own functions end a text there; stored texts have none
    with create_engine("sqlite://").connect() as connection:
        for word in split_words(search):
            pattern = {"title": title.encode(errors="replace").decode(), "pattern": to_like_pattern(word)}
            pattern["pattern"] = pattern["pattern"].encode(errors="replace").decode()
            is_found = connection.execute(text("SELECT lower(:title) LIKE :pattern ESCAPE '\\'"), pattern).scalar_one()
            assert is_found or not matches_words([word], pattern["title"], "")
