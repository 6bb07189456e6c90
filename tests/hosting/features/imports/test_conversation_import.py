"""Conversations of files become sessions: whole, once, with their titles and times, and found by a search."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon.attachments import Attachment
from sophon.messages import Message, Reasoning, ToolCall
from sophon.stores.contract import Store
from sophon.stores.data_labels.contract import session_key
from sophon.stores.sessions.contract import NewSession, SessionRecord
from sophon.stores.sessions.copy_limits import MAX_SESSIONS
from sophon_hosting.features.imports.conversation import Unreadable
from sophon_hosting.features.imports.conversation_import import UNKNOWN_ORIGIN, ConversationImport
from sophon_hosting.features.imports.export_file import read_export
from sophon_hosting.features.imports.results import import_report_to_json
from sophon_hosting.features.sessions.session_export import session_record_to_json, session_summary_to_json
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.features.imports.exports import chatgpt_conversation, claude_conversation
from tests.store_urls import store_url as store_url

NOW = datetime(2100, 1, 1, tzinfo=UTC)
FILE = json.dumps([chatgpt_conversation(), claude_conversation()]).encode()


@pytest.fixture
async def store(store_url: str, tmp_path: Path) -> AsyncIterator[Store]:
    store = host_store_from_url(store_url, folder=tmp_path)
    await store.open()
    yield store
    await store.close()


async def export(store: Store, session_id: str) -> dict[str, Any]:
    session, records = await store.sessions.get(session_id), await store.sessions.list_records(session_id)
    return {
        "session": session_summary_to_json(session),
        "records": [session_record_to_json(each) for each in records],
    }


def without_ids(exported: dict[str, Any]) -> dict[str, Any]:
    session = {name: value for name, value in exported["session"].items() if name not in ("id", "owner")}
    return {"session": session, "records": [each | {"run_id": ""} for each in exported["records"]]}


async def test_titles_and_times_are_kept_and_a_search_finds_the_messages(store: Store):
    report = await ConversationImport(store, "ada", NOW).store(read_export(FILE))
    assert [title for _, title in report.imported] == ["Woodwinds", "Notes on reeds"]
    page = await store.sessions.list_page("ada")
    years = [(each.title, each.updated_at.year) for each in page.items]
    assert years == [("Notes on reeds", 2024), ("Woodwinds", 2023)]
    assert page.items[1].created_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert page.items[1].message_count == 4
    (hit,) = (await store.message_search.search("ada", "oboe")).items
    assert (hit.title, hit.at.year) == ("Woodwinds", 2023)
    assert len((await store.sessions.load_history(hit.session_id)).messages) == 4
    assert (await store.message_search.search("bob", "oboe")).items == []


async def test_a_second_import_of_the_file_stores_nothing(store: Store):
    importing = ConversationImport(store, "ada", NOW)
    await importing.store(read_export(FILE))
    again = await importing.store(read_export(FILE))
    assert (again.imported, {each.reason for each in again.skipped}) == ([], {"it is here already"})
    assert len(await store.sessions.list("ada")) == 2
    of_another = await ConversationImport(store, "bob", NOW).store(read_export(FILE + b""))
    assert len(of_another.imported) == 2


async def test_a_conversation_that_is_twice_in_a_file_is_stored_once(store: Store):
    twice = read_export(json.dumps([chatgpt_conversation(), chatgpt_conversation()]).encode())
    for is_dry_run in (True, False):
        report = await ConversationImport(store, "ada", NOW).store(twice, is_dry_run=is_dry_run)
        assert (len(report.imported), len(report.skipped)) == (1, 1)


async def test_an_import_ends_where_its_user_has_as_many_conversations_as_one_may_have():
    store = SqlHostStore("memory://")
    for number in range(MAX_SESSIONS - 1):
        await store.sessions.add(NewSession(f"s{number}", "ada", "", [], NOW, NOW))
    report = await ConversationImport(store, "ada", NOW).store(read_export(FILE))
    assert (len(report.imported), len(report.skipped)) == (1, 1)
    assert report.skipped[0].reason == "there are 10,000 conversations, branches included; delete some first"
    assert (await store.sessions.count("ada")).sessions == MAX_SESSIONS
    assert len((await ConversationImport(store, "bob", NOW).store(read_export(FILE))).imported) == 2


async def test_a_trial_stores_nothing(store: Store):
    report = await ConversationImport(store, "ada", NOW).store(read_export(FILE), is_dry_run=True)
    assert import_report_to_json(report)["imported"] == 2
    assert await store.sessions.list("ada") == []


async def test_what_cannot_be_read_or_is_empty_is_named_and_the_rest_stored(store: Store):
    items = [
        chatgpt_conversation(current_node="nowhere"),
        claude_conversation(chat_messages=[]),
        chatgpt_conversation(),
    ]
    report = await ConversationImport(store, "ada", NOW).store(read_export(json.dumps(items).encode()))
    assert [title for _, title in report.imported] == ["Woodwinds"]
    assert [(each.title, each.reason.split(":")[0]) for each in report.skipped] == [
        ("Woodwinds", "it cannot be read"),
        ("Notes on reeds", "it has no messages"),
    ]
    assert len(await store.sessions.list("ada")) == 1


async def test_what_retention_would_delete_at_once_is_skipped(store: Store):
    report = await ConversationImport(store, "ada", NOW, kept_since=datetime(2024, 1, 1, tzinfo=UTC)).store(
        read_export(FILE)
    )
    assert [title for _, title in report.imported] == ["Notes on reeds"]
    assert "Retention.Sessions" in report.skipped[0].reason


async def test_an_imported_session_counts_as_one_that_has_read_private_and_untrusted_data(store: Store):
    report = await ConversationImport(store, "ada", NOW).store(read_export(FILE))
    key = session_key(report.imported[0][0])
    assert (await store.data_labels.find([key]))[key] == UNKNOWN_ORIGIN


async def test_an_export_of_a_session_that_is_here_is_skipped_and_comes_back_equal_when_it_is_deleted(store: Store):
    records = [
        SessionRecord("message", "r", Message("user", "hi", attachments=(Attachment("a", "n.txt", "text/plain", 3),))),
        SessionRecord("message", "r", Message("assistant", "", [ToolCall("c", "search", {"q": [1, None]}, batch=2)])),
        SessionRecord("message", "r", Message("tool", "found", tool_call_id="c")),
        SessionRecord("message", "r", Message("assistant", "yes", reasoning=Reasoning("so", "m", {"sig": "x"}))),
        SessionRecord("failed", "r2", data={"message": "broke", "shown": "part"}),
        SessionRecord("compaction", "r2", Message("user", "in short", origin="compaction"), {"covers": 2}),
    ]
    await store.sessions.append("s", records, owner="ada")
    await store.sessions.rename("s", "Greetings")
    await store.sessions.mark("s", pinned=True)
    await store.sessions.set_planning("s", "Always")
    before = await export(store, "s")
    content = json.dumps(before).encode()
    importing = ConversationImport(store, "ada", NOW)
    assert [each.reason for each in (await importing.store(read_export(content))).skipped] == ["it is here already"]
    await store.sessions.delete("s")
    ((session_id, _),) = (await importing.store(read_export(content))).imported
    assert without_ids(await export(store, session_id)) == without_ids(before)
    assert (await store.sessions.load_history(session_id)).compaction is not None
    # The flat form of the HTTP API is the same conversation.
    flat = {**before["session"], "records": before["records"]}
    assert (await importing.store(read_export(json.dumps(flat).encode()))).imported == []


MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    st.text(max_size=20).filter(lambda text: "\0" not in text),
    tool_call_id=st.none() | st.text(min_size=1, max_size=3),
    origin=st.sampled_from(["", "hint"]),
)
TIMES = st.none() | st.datetimes(datetime(2001, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC))
RECORDS = st.lists(
    st.builds(SessionRecord, st.just("message"), st.just("r"), MESSAGES, at=TIMES)
    | st.builds(SessionRecord, st.just("cancelled"), st.just("r"), at=TIMES),
    min_size=1,
    max_size=6,
)


@settings(max_examples=50)
@given(records=RECORDS)
async def test_every_export_comes_back_equal(records: list[SessionRecord]):
    here, there = SqlHostStore("memory://"), SqlHostStore("memory://")
    await here.sessions.add(NewSession("s", "ada", "T", records, datetime(2000, 1, 1, tzinfo=UTC), NOW))
    before = await export(here, "s")
    conversations = read_export(json.dumps(before).encode())
    assert not any(isinstance(each, Unreadable) for each in conversations)
    ((session_id, _),) = (await ConversationImport(there, "bob", NOW).store(conversations)).imported
    assert without_ids(await export(there, session_id)) == without_ids(before)
