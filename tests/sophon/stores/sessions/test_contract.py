"""What every store promises about conversations."""

import asyncio
from datetime import timedelta

import pytest

from sophon.errors import InputError, NotFound
from sophon.messages import Compaction, Message, Reasoning, ToolCall
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord, SessionTotals
from sophon.testing import VirtualClock


def said(text: str, role: str = "user", run_id: str = "run") -> SessionRecord:
    return SessionRecord("message", run_id, Message(role, text))  # type: ignore[arg-type]


def compaction(text: str, covers: int) -> SessionRecord:
    return SessionRecord("compaction", "run", Message("user", text, origin="compaction"), {"covers": covers})


async def test_a_session_that_does_not_exist_has_an_empty_history(store: Store):
    history = await store.sessions.load_history("nowhere")
    assert (history.messages, history.compaction, history.model) == ([], None, None)


async def test_history_gives_all_messages_in_order(store: Store):
    await store.sessions.append("s", [said("one"), said("two", "assistant")])
    await store.sessions.append("s", [said("three")])
    assert [m.content for m in (await store.sessions.load_history("s")).messages] == ["one", "two", "three"]


async def test_a_message_comes_back_as_it_was(store: Store):
    call = ToolCall("c1", "mail.send", {"to": "Ada", "n": [1, 2.5, None, True, {"x": "y"}]}, malformed="half")
    messages = [
        Message("assistant", "I will", [call]),
        Message("tool", "done", tool_call_id="c1"),
        Message("user", "note", origin="hint"),
    ]
    await store.sessions.append("s", [SessionRecord("message", "r", message) for message in messages])
    assert (await store.sessions.load_history("s")).messages == messages


async def test_the_list_of_messages_is_the_callers_own(store: Store):
    await store.sessions.append("s", [said("one")])
    (await store.sessions.load_history("s")).messages.append(Message("user", "mine"))
    assert len((await store.sessions.load_history("s")).messages) == 1


async def test_history_gives_the_newest_compaction_and_still_all_messages(store: Store):
    await store.sessions.append("s", [said("one"), compaction("old", 1), said("two"), compaction("new", 2)])
    history = await store.sessions.load_history("s")
    assert history.compaction == Compaction(Message("user", "new", origin="compaction"), 2)
    assert [m.content for m in history.messages] == ["one", "two"]


async def test_append_numbers_records_from_one_and_gives_the_last_seq(store: Store):
    assert await store.sessions.append("s", [said("a"), said("b")]) == 2
    assert await store.sessions.append("s", [said("c")]) == 3
    assert [record.seq for record in await store.sessions.list_records("s")] == [1, 2, 3]


async def test_sequences_of_two_sessions_do_not_mix(store: Store):
    await store.sessions.append("s", [said("a"), said("b")])
    assert await store.sessions.append("t", [said("a")]) == 1


async def test_appending_nothing_makes_no_session(store: Store):
    assert await store.sessions.append("s", []) == 0
    with pytest.raises(NotFound):
        await store.sessions.get("s")
    await store.sessions.append("s", [said("a")])
    assert await store.sessions.append("s", []) == 1


async def test_a_bad_record_leaves_none_of_its_neighbours(store: Store):
    await store.sessions.append("s", [said("a")])
    for bad in (SessionRecord("message", "r"), SessionRecord("compaction", "r", Message("user", "x"))):
        with pytest.raises(ValueError, match="needs"):
            await store.sessions.append("s", [said("b"), bad])
    assert len(await store.sessions.list_records("s")) == 1


async def test_records_keep_kind_run_data_and_time(store: Store, clock: VirtualClock):
    await store.sessions.append("s", [SessionRecord("failed", "run-7", data={"code": "model", "n": 1})])
    (record,) = await store.sessions.list_records("s")
    assert (record.kind, record.run_id, record.message, dict(record.data)) == (
        "failed",
        "run-7",
        None,
        {"code": "model", "n": 1},
    )
    assert record.at == clock.now()
    assert record.at.utcoffset() == timedelta(0)


async def test_records_after_a_seq(store: Store):
    await store.sessions.append("s", [said("a"), said("b"), said("c")])
    assert [record.seq for record in await store.sessions.list_records("s", after=1)] == [2, 3]
    assert await store.sessions.list_records("s", after=3) == []


async def test_the_log_is_not_changed_by_what_its_readers_and_writers_do(store: Store):
    data = {"code": "model"}
    record = SessionRecord("failed", "r", data=data)
    await store.sessions.append("s", [record])
    data["code"] = "other"
    (await store.sessions.list_records("s"))[0].kind = "cancelled"
    (kept,) = await store.sessions.list_records("s")
    assert (kept.kind, dict(kept.data), record.seq) == ("failed", {"code": "model"}, 0)


async def test_unknown_sessions_are_not_found(store: Store):
    sessions = store.sessions
    for call in (
        sessions.list_records("x"),
        sessions.get("x"),
        sessions.rename("x", "t"),
        sessions.set_model("x", "m"),
        sessions.fork("x", "y"),
        sessions.delete("x"),
    ):
        with pytest.raises(NotFound):
            await call


async def test_an_unknown_session_names_the_near_ones(store: Store):
    await store.sessions.append("holiday-plans", [said("a")])
    with pytest.raises(NotFound, match="did you mean 'holiday-plans'"):
        await store.sessions.get("holiday-plan")


async def test_a_summary_counts_what_people_and_the_agent_said(store: Store, clock: VirtualClock):
    call = Message("assistant", "", [ToolCall("c", "t")])
    records = [said("hello"), SessionRecord("message", "r", call), said("x", "tool"), said("hi", "assistant")]
    began = clock.now()
    await store.sessions.append("s", [*records, compaction("sum", 1)], owner="ada")
    await clock.advance(60)
    await store.sessions.append("s", [SessionRecord("cancelled", "r")])
    summary = await store.sessions.get("s")
    assert (summary.id, summary.owner, summary.title, summary.message_count) == ("s", "ada", "", 2)
    assert (summary.created_at, summary.updated_at) == (began, began + timedelta(seconds=60))


async def test_the_first_owner_stays(store: Store):
    await store.sessions.append("s", [said("a")], owner="ada")
    await store.sessions.append("s", [said("b")], owner="bob")
    assert (await store.sessions.get("s")).owner == "ada"


async def test_sessions_are_listed_the_newest_first(store: Store, clock: VirtualClock):
    for name in ("a", "b", "c"):
        await store.sessions.append(name, [said("x")])
    await clock.advance(1)
    await store.sessions.append("a", [said("y")])
    assert [summary.id for summary in await store.sessions.list()] == ["a", "c", "b"]


async def test_sessions_are_listed_by_owner(store: Store):
    await store.sessions.append("a", [said("x")], owner="ada")
    await store.sessions.append("b", [said("x")], owner="bob")
    assert [summary.id for summary in await store.sessions.list("bob")] == ["b"]
    assert len(await store.sessions.list()) == 2


async def test_title_and_model_are_kept(store: Store):
    await store.sessions.append("s", [said("a")])
    await store.sessions.rename("s", "Holiday")
    await store.sessions.set_model("s", "gpt-5")
    summary = await store.sessions.get("s")
    assert (summary.title, summary.model) == ("Holiday", "gpt-5")
    assert (await store.sessions.load_history("s")).model == "gpt-5"
    await store.sessions.set_model("s", None)
    assert (await store.sessions.load_history("s")).model is None


async def test_a_fork_has_the_whole_log_and_a_life_of_its_own(store: Store):
    await store.sessions.append("s", [said("a"), compaction("sum", 1), said("b")], owner="ada")
    await store.sessions.rename("s", "Trip")
    await store.sessions.fork("s", "t")
    assert await store.sessions.list_records("t") == await store.sessions.list_records("s")
    assert await store.sessions.append("t", [said("c")]) == 4
    fork = await store.sessions.get("t")
    assert (fork.owner, fork.title, fork.message_count) == ("ada", "Trip", 3)
    assert len((await store.sessions.load_history("s")).messages) == 2


async def test_a_fork_up_to_a_seq_leaves_out_what_came_later(store: Store):
    await store.sessions.append("s", [said("a"), said("b"), compaction("sum", 2), said("c")])
    await store.sessions.fork("s", "t", upto=2)
    history = await store.sessions.load_history("t")
    assert ([m.content for m in history.messages], history.compaction) == (["a", "b"], None)
    assert await store.sessions.append("t", [said("d")]) == 3
    await store.sessions.fork("s", "u", upto=99)
    assert len(await store.sessions.list_records("u")) == 4


async def test_a_fork_neither_replaces_a_session_nor_is_empty(store: Store):
    await store.sessions.append("s", [said("a")])
    await store.sessions.append("t", [said("mine")])
    with pytest.raises(InputError, match="'t' exists already"):
        await store.sessions.fork("s", "t")
    with pytest.raises(InputError, match="seq 0"):
        await store.sessions.fork("s", "u", upto=0)
    assert [m.content for m in (await store.sessions.load_history("t")).messages] == ["mine"]


async def test_a_deleted_session_is_gone_and_its_id_free(store: Store):
    await store.sessions.append("s", [said("a"), said("b")])
    await store.sessions.delete("s")
    assert (await store.sessions.load_history("s")).messages == []
    assert await store.sessions.append("s", [said("new")]) == 1
    assert [r.message.content for r in await store.sessions.list_records("s") if r.message] == ["new"]


@pytest.mark.parametrize("text", ["größe 🐱 猫", "nul \x00 in it", "lone \ud83d surrogate", "\x1a0041", " \n\t"])
async def test_any_text_comes_back(store: Store, text: str):
    await store.sessions.append(f"id {text}", [said(text, run_id=text)], owner=text)
    await store.sessions.rename(f"id {text}", text)
    (record,) = await store.sessions.list_records(f"id {text}")
    summary = await store.sessions.get(f"id {text}")
    assert (record.run_id, record.message) == (text, Message("user", text))
    assert (summary.id, summary.owner, summary.title) == (f"id {text}", text, text)
    assert [found.id for found in await store.sessions.list(text)] == [f"id {text}"]


async def test_integers_of_any_size_come_back(store: Store):
    call = ToolCall("c", "t", {"n": 2**80, "m": -(2**70)})
    await store.sessions.append("s", [SessionRecord("message", "r", Message("assistant", "", [call]))])
    assert (await store.sessions.load_history("s")).messages[0].tool_calls == [call]


async def test_a_message_of_ten_megabytes_comes_back(store: Store):
    text = "0123456789" * 1_000_000
    await store.sessions.append("s", [said(text)])
    assert (await store.sessions.load_history("s")).messages[0].content == text


async def test_many_writers_of_one_session_lose_nothing(store: Store):
    seqs = await asyncio.gather(*(store.sessions.append("s", [said(str(n))]) for n in range(50)))
    assert sorted(seqs) == list(range(1, 51))
    assert len((await store.sessions.load_history("s")).messages) == 50


async def test_the_reasoning_of_a_message_is_kept(store: Store) -> None:
    message = Message("assistant", "Four.", reasoning=Reasoning("2 + 2", "p/m"))
    await store.sessions.append("s", [SessionRecord("message", "r", message)])
    assert (await store.sessions.load_history("s")).messages == [message]


async def test_the_sessions_and_records_of_an_owner_are_counted_with_branches(store: Store):
    assert await store.sessions.count("ada") == SessionTotals(0, 0)
    for name, owner in (("s", "ada"), ("t", "ada"), ("u", "bob")):
        await store.sessions.get_or_create(name, owner)
        await store.sessions.append(name, [said("one"), said("two", "assistant")])
    await store.sessions.fork("s", "copy", upto=1)
    await store.sessions.fork("s", "branch", branch=True)
    assert await store.sessions.count("ada") == SessionTotals(4, 7)
    await store.sessions.delete("t")
    assert await store.sessions.count("ada") == SessionTotals(3, 5)
