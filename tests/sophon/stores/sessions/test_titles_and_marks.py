"""What every store promises about provisional titles, and about sessions that are pinned or archived."""

from collections.abc import Sequence

import pytest

from sophon.errors import NotFound
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionKind, SessionRecord
from sophon.stores.sessions.provisional_title import provisional_title
from sophon_hosting.store.runs.contract import Run
from tests.tables import table


def said(text: str, role: str = "user") -> SessionRecord:
    return SessionRecord("message", "r", Message(role, text))  # type: ignore[arg-type]


async def listed(store: Store, kind: SessionKind | None, search: str = "") -> Sequence[str]:
    return [each.id for each in (await store.sessions.list_page("ada", kind=kind, search=search)).items]


async def test_a_message_gives_its_session_a_title_before_its_turn_begins(host_store: Store):
    await host_store.runs.accept(Run("r", "s", "ada", text="Plan my trip\nto Rügen"))
    session = await host_store.sessions.get("s")
    assert (session.title, session.shown_title) == ("", "Plan my trip")


async def test_a_session_that_a_client_joined_first_gets_one_too(host_store: Store):
    await host_store.sessions.get_or_create("s", "ada")
    await host_store.runs.accept(Run("r1", "s", "ada", text="  \n"))
    await host_store.runs.accept(Run("r2", "s", "ada", text="first words"))
    await host_store.runs.accept(Run("r3", "s", "ada", text="second words"))
    assert (await host_store.sessions.get("s")).shown_title == "first words"


async def test_a_turn_without_a_host_gives_one_by_the_first_text_of_the_person(store: Store):
    await store.sessions.append("s", [said("hello", "assistant"), said("Sum of 1 and 2?"), said("And 3?")], owner="ada")
    await store.sessions.append("s", [said("later")])
    assert (await store.sessions.get("s")).shown_title == "Sum of 1 and 2?"


async def test_a_title_takes_its_place_and_a_copy_has_both(store: Store):
    await store.sessions.append("s", [said("hello")], owner="ada")
    await store.sessions.fork("s", "early")
    await store.sessions.rename("s", "Greetings")
    await store.sessions.fork("s", "late")
    titles = [(await store.sessions.get(each)).shown_title for each in ("s", "early", "late")]
    assert titles == ["Greetings", "hello", "Greetings"]


async def test_the_list_finds_a_provisional_title_until_there_is_another(store: Store):
    await store.sessions.append("s", [said("Ärger mit dem Drucker")], owner="ada")
    assert await listed(store, None, "ärger drucker") == ["s"]
    await store.sessions.rename("s", "Printer")
    assert await listed(store, None, "drucker") == []


async def test_pinned_and_archived_sessions_have_lists_of_their_own(store: Store):
    for name in "abc":
        await store.sessions.append(name, [said(name)], owner="ada")
    await store.sessions.mark("a", pinned=True)
    await store.sessions.mark("b", pinned=True, archived=True)
    assert (await listed(store, "open"), await listed(store, "pinned")) == (["c", "a"], ["a"])
    assert (await listed(store, "archived"), await listed(store, None)) == (["b"], ["c", "b", "a"])
    assert (await store.sessions.list_page("ada", kind="archived")).total == 1
    await store.sessions.mark("b", archived=False)
    assert await listed(store, "pinned") == ["b", "a"]
    session = await store.sessions.get("b")
    assert (session.pinned, session.archived) == (True, False)


async def test_a_mark_is_that_of_all_branches_and_a_copy_has_none(store: Store):
    await store.sessions.append("a", [said("hello")], owner="ada")
    await store.sessions.fork("a", "b", branch=True)
    await store.sessions.mark("b", pinned=True)
    await store.sessions.fork("a", "c", branch=True)
    await store.sessions.fork("a", "copy")
    assert [(await store.sessions.get(each)).pinned for each in ("a", "b", "c", "copy")] == [True, True, True, False]


async def test_what_does_not_exist_is_not_marked(store: Store):
    with pytest.raises(NotFound):
        await store.sessions.mark("s", pinned=True)


@table(
    ("text", "title"),
    [
        ("", ""),
        (" \n\u200b\n  Hello   world\t! \nmore", "Hello world !"),
        ("word " * 20, "word " * 10 + "word…"),
        ("x" * 100, "x" * 59 + "…"),
        ("a\u202eb\x00c\ud800d", "abcd"),
        ("[SCHEDULED TASK: News]\nRead the news", "Read the news"),
        ('<external-21e70643e642fc49 source="webhook">\nIt breaks\n</external-21e70643e642fc49>', "It breaks"),
        ("my key is AKIA" + "IOSFODNN7EXAMPLE", "my key is [REDACTED]"),
    ],
)
def test_a_provisional_title_is_one_visible_line_without_secrets(text: str, title: str):
    found = provisional_title(text)
    assert "IOSFODNN7EXAMPLE" not in found
    if "REDACTED" not in title:
        assert found == title
