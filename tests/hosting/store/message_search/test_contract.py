"""What every store promises about the search in messages."""

from collections.abc import Sequence

import pytest

from sophon.errors import InputError
from sophon.messages import Message, ToolCall
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import VirtualClock
from sophon_hosting.store.message_search.hits import MessageHits


def said(text: str, role: str = "user") -> SessionRecord:
    return SessionRecord("message", "run", Message(role, text))  # type: ignore[arg-type]


async def write(store: Store, session: str, *texts: str, owner: str = "ada") -> None:
    for text in texts:
        await store.sessions.append(session, [said(text)], owner=owner)


def places(hits: MessageHits) -> list[str]:
    return [f"{hit.session_id}:{hit.seq}" for hit in hits.items]


async def find(store: Store, query: str, owner: str = "ada") -> list[str]:
    return places(await store.message_search.search(owner, query))


async def test_a_message_is_found_by_the_beginning_of_its_words_whatever_case_and_accents(store: Store):
    await write(store, "s", "We met at the CAFÉ in Zürich", "nothing else")
    for query in ("cafe", "Caf", "zurich cafe", "ZÜR", "we in"):
        assert await find(store, query) == ["s:1"], query
    for query in ("afe", "cafe berlin", "c", "caféine"):
        assert await find(store, query) == [], query


async def test_a_letter_alone_matches_a_whole_word(store: Store):
    await write(store, "s", "plan b is ready", "because")
    assert await find(store, "b") == ["s:1"]


@pytest.mark.parametrize("query", ["京都", "都", "東京都", "東"])
async def test_scripts_without_spaces_match_anywhere(store: Store, query: str):
    await write(store, "s", "私は東京都に住んでいます", "私は大阪に住んでいます")
    assert await find(store, query) == ["s:1"]


async def test_pairs_that_do_not_follow_each_other_are_no_match(store: Store):
    await write(store, "s", "東京と京都")
    assert await find(store, "東京都") == []


async def test_only_what_people_and_agent_said_is_found(store: Store):
    call = Message("assistant", "", [ToolCall("1", "files.read", {"path": "budget.txt"})])
    result = Message("tool", "budget 2026", tool_call_id="1")
    inside = Message("user", "budget of the framework", origin="compaction")
    records = [SessionRecord("message", "run", each) for each in (call, result, inside)]
    summary = SessionRecord("compaction", "run", Message("system", "budget"), {"covers": 1})
    await store.sessions.append("s", [*records, summary, said("the budget is done", "assistant")], owner="ada")
    hits = await store.message_search.search("ada", "budget")
    assert places(hits) == ["s:5"]
    assert hits.items[0].role == "assistant"


async def test_a_person_finds_own_sessions_only(store: Store):
    await write(store, "a", "the secret of ada")
    await write(store, "b", "the secret of bob", owner="bob")
    assert await find(store, "secret") == ["a:1"]
    assert await find(store, "secret", "bob") == ["b:1"]
    assert await find(store, "secret", "eve") == []
    assert await find(store, "secret", "") == []


async def test_a_deleted_session_is_not_found_nor_a_later_one_of_its_name(store: Store):
    await write(store, "a", "pineapple", "pineapples " * 10_000)
    await write(store, "b", "pineapple")
    await store.sessions.delete("a")
    assert await find(store, "pineapple") == ["b:1"]
    await write(store, "a", "apple")
    assert await find(store, "pineapple") == ["b:1"]


async def test_a_copy_is_found_up_to_where_it_was_copied(store: Store, clock: VirtualClock):
    await write(store, "a", "pear one", "pear two", "pear three")
    await clock.advance(1)
    await store.sessions.fork("a", "b", upto=2)
    await store.sessions.delete("a")
    assert await find(store, "pear") == ["b:2", "b:1"]


async def test_a_message_that_branches_share_is_found_once(store: Store):
    await write(store, "a", "pear one", "pear two")
    await store.sessions.fork("a", "b", upto=1, branch=True)
    await write(store, "b", "pear three")
    await store.sessions.fork("b", "c", branch=True)
    await write(store, "c", "pear four")
    assert sorted(await find(store, "pear")) == ["a:1", "a:2", "b:2", "c:3"]
    await store.sessions.fork("c", "copy")
    assert sorted(await find(store, "pear")) == ["a:1", "a:2", "b:2", "c:3", "copy:1", "copy:2", "copy:3"]


async def test_branches_that_are_joined_after_an_import_share_their_messages(store: Store):
    await write(store, "a", "pear one", "pear two")
    await write(store, "b", "pear one", "pear three")
    await store.sessions.join_family("a", "a", None, None)
    await store.sessions.join_family("b", "a", "a", 1)
    assert sorted(await find(store, "pear")) == ["a:1", "a:2", "b:2"]


async def test_hits_are_in_order_of_time_and_come_in_pages(store: Store, clock: VirtualClock):
    for number in range(7):
        await clock.advance(1)
        await write(store, "old" if number % 2 == 0 else "new", f"tea {number}")
    found: list[str] = []
    cursor = None
    while True:
        page = await store.message_search.search("ada", "tea", limit=3, cursor=cursor)
        found.append(" ".join(places(page)))
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == ["old:4 new:3 old:3", "new:2 old:2 new:1", "old:1"]


@pytest.mark.parametrize("cursor", ["x", "", "ä", "MjAyNi0wMS0wMSAxIDE", "_" * 5000])
async def test_an_invalid_cursor_is_an_error(store: Store, cursor: str):
    with pytest.raises(InputError, match="cursor"):
        await store.message_search.search("ada", "tea", cursor=cursor)


HOSTILE = [
    *('"', "'", '"tea', "tea*", "NEAR(tea cup)", "tea AND cup", "tea OR cup", "words:tea", "-cup tea", "(tea", "^tea"),
    *("tea'; DROP TABLE records; --", "tea\x00", "\x00", "\ud800 tea", "%", "_", "tea & cup", "tea:*", "!tea", "<->"),
    *("tea " * 2500, "x" * 10_000, '"' * 10_000, "\\", "{tea}", "tea + cup", "\u202etea", "🫖"),
]


@pytest.mark.parametrize("query", HOSTILE)
async def test_a_query_is_plain_text(store: Store, query: str):
    await write(store, "s", "a cup of tea and or near", "words drop table records")
    await store.message_search.search("ada", query)
    assert await find(store, "tea") == ["s:1"]


@pytest.mark.parametrize(
    ("query", "found"),
    [("tea AND cup", ["s:1"]), ("tea OR coffee", []), ('"tea cup"', ["s:1"]), ("tea*", ["s:1"]), ("tea -cup", ["s:1"])],
)
async def test_operators_are_words_or_nothing(store: Store, query: str, found: list[str]):
    await write(store, "s", "a cup of tea and or near")
    assert await find(store, query) == found


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "🫖"])
async def test_a_query_without_a_word_finds_nothing(store: Store, query: str):
    await write(store, "s", "tea? 🫖 \x00")
    assert await find(store, query) == []


async def test_hostile_texts_are_found_by_their_words(store: Store):
    await write(
        store, "s", "nul \x00 here", "lone \ud800 surrogate", "large " + "x " * 50_000 + "end", "tab\x1a0000 escape"
    )
    for query, found in (("nul here", "s:1"), ("surrogate", "s:2"), ("large end", "s:3"), ("escape", "s:4")):
        assert await find(store, query) == [found]


async def test_of_a_message_with_very_many_words_the_first_are_indexed(store: Store):
    await write(store, "s", " ".join(f"w{number}" for number in range(20_000)))
    assert await find(store, "w9999") == ["s:1"]


async def test_what_the_reader_is_not_shown_is_not_found(store: Store):
    await write(store, "s", "the key is sk-12345", "the key is here")

    def hide(text: str) -> str:
        return text.replace("sk-12345", "[REDACTED]")

    found = await store.message_search.search("ada", "12345", to_shown=hide)
    assert found.items == []
    shown = await store.message_search.search("ada", "key", to_shown=hide)
    assert places(shown) == ["s:2", "s:1"]
    assert "12345" not in "".join(part.text for hit in shown.items for part in hit.snippet)


async def test_a_page_ends_after_many_messages_that_the_reader_is_not_shown(store: Store):
    await store.sessions.append("s", [said(f"tea {number}") for number in range(250)], owner="ada")
    pages: list[Sequence[str]] = []
    cursor = None
    while not pages or cursor is not None:
        page = await store.message_search.search(
            "ada", "tea", cursor=cursor, to_shown=lambda text: text if text == "tea 3" else ""
        )
        pages.append(places(page))
        cursor = page.next_cursor
    assert pages == [[], ["s:4"]]


async def test_a_snippet_marks_what_matches(store: Store):
    text = "start " * 40 + "the CAFE\u0301 of Zürich\nand a cafeteria" + " end" * 100
    await write(store, "s", text)
    (hit,) = (await store.message_search.search("ada", "cafe zür")).items
    assert [part.text for part in hit.snippet if part.is_match] == ["CAFE\u0301", "Zür", "cafe"]
    whole = "".join(part.text for part in hit.snippet)
    assert whole.startswith("…start")
    assert whole.endswith("…")
    assert "\n" not in whole
    assert len(whole) < 220


async def test_the_index_of_a_new_store_is_complete(store: Store):
    assert (await store.message_search.search("ada", "tea")).is_complete
    await write(store, "s", "tea")
    assert (await store.message_search.search("ada", "tea")).is_complete
    assert await store.message_search.index_missing() == 0


async def test_after_a_purge_everything_that_is_left_is_found(store: Store):
    for number in range(30):
        await write(store, f"s{number}", f"tea {number}")
    for number in range(0, 30, 2):
        await store.sessions.delete(f"s{number}")
    await store.message_search.purge()
    assert len(await find(store, "tea")) == 15
