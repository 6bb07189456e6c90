"""Large texts, for every store: each is read as it was written, and is gone with what referred to it."""

import pytest

from sophon.errors import NotFound
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.texts.large_text import HEAD_CHARACTERS, text_id
from sophon.testing import VirtualClock
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import LogWrite, Run, RunOutcome
from tests.units_of_work import store_checkpoint

ODD = "\x00\x1a\ud83d é\t" * 30_000
LONG = "".join(f"line {number}\n" for number in range(20_000))


def event(text: str) -> LoggedEvent:
    url = f"/api/sessions/s/texts/{text_id(text)}"
    return LoggedEvent(
        "task_completed", {"text": text[:9], "large": {"text": {"url": url}}}, texts={text_id(text): text}
    )


@pytest.mark.parametrize("text", [LONG, ODD])
async def test_a_large_text_is_read_as_it_was_written(store: Store, text: str) -> None:
    await store.runs.accept(Run(id="r", session_id="s"))
    await store.runs.begin("r", VirtualClock().now())
    await store_checkpoint(store, "r", {"messages": [{"content": text}], "n": 1})
    assert (await store.runs.get("r")).checkpoint == {"messages": [{"content": text}], "n": 1}
    await store.runs.suspend("r", {"messages": [text]}, [])
    assert (await store.runs.get("r")).checkpoint == {"messages": [text]}
    record = SessionRecord("failed", "r", data={"shown": text})
    records = [SessionRecord("message", "r", Message("assistant", text)), record]
    outcome = RunOutcome("completed", {"text": f"Before.\n\n{text}", "usage": {}})
    await store.runs.finish("r", outcome, records=records, events=lambda _: [event(text)])

    run = await store.runs.get("r")
    assert (run.response, run.checkpoint) == ({"text": f"Before.\n\n{text}", "usage": {}}, None)
    stored = await store.sessions.list_records("s")
    assert [each.message and each.message.content for each in stored] == [text, None]
    assert stored[1].data["shown"] == text
    assert (await store.sessions.load_history("s")).messages[0].content == text
    assert await store.texts.get("s", text_id(text)) == text
    assert (await store.events.list_after("s", 0))[0].data["text"] == text[:9]


async def test_a_copy_of_a_session_keeps_its_texts_when_the_first_is_deleted(store: Store) -> None:
    records = [SessionRecord("message", "r", Message("assistant", each)) for each in (LONG, LONG + ODD + LONG)]
    await store.sessions.append("s", records)
    await store.sessions.fork("s", "copy")
    await store.sessions.delete("s")
    assert [each.content for each in (await store.sessions.load_history("copy")).messages] == [LONG, LONG + ODD + LONG]


async def test_a_text_is_deleted_with_its_session_and_belongs_to_it_alone(store: Store) -> None:
    await store.sessions.get_or_create("other", "bob")
    await store.sessions.get_or_create("s", "ada")
    await store.events.append("s", [event(LONG)])
    assert await store.texts.get("other", text_id(LONG)) is None
    await store.sessions.delete("s")
    assert await store.texts.get("s", text_id(LONG)) is None
    await store.sessions.get_or_create("s", "ada")
    assert await store.texts.get("s", text_id(LONG)) is None


async def test_a_text_that_only_events_had_goes_with_the_last_of_them(store: Store) -> None:
    await store.sessions.append("s", [SessionRecord("message", "r", Message("assistant", "hello"))])
    await store.events.append("s", [event(LONG), event(ODD), event(ODD)])
    await store.events.trim("s", 1)
    assert await store.texts.get("s", text_id(LONG)) is None
    assert await store.texts.get("s", text_id(ODD)) == ODD


async def test_a_message_keeps_its_text_when_its_events_are_dropped(store: Store) -> None:
    await store.sessions.append("s", [SessionRecord("message", "r", Message("assistant", LONG))])
    await store.events.append("s", [event(LONG)])
    await store.events.trim("s", 0)
    assert (await store.sessions.load_history("s")).messages[0].content == LONG


async def test_a_text_that_consists_of_others_keeps_them(store: Store) -> None:
    await store.runs.accept(Run(id="r", session_id="s"))
    whole = f"{LONG}\n\n{ODD}"
    records = [SessionRecord("message", "r", Message("assistant", each)) for each in (LONG, ODD)]
    await store.runs.finish(
        "r", RunOutcome("completed", {"text": whole}), records=records, events=lambda _: [event(whole)]
    )
    await store.events.trim("s", 0)
    assert (await store.runs.get("r")).response == {"text": whole}


async def test_a_text_of_an_unknown_session_is_refused(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.texts.add("nobody", {text_id(LONG): LONG})
    assert await store.texts.get("nobody", text_id(LONG)) is None


@pytest.mark.parametrize(
    ("options", "seqs"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"after": 2, "limit": 2}, [3, 4]),
        ({"before": 4}, [1, 2, 3]),
        ({"before": 5, "limit": 2}, [3, 4]),
        ({"max_bytes": 60_000}, [1, 2]),
        ({"max_bytes": 1}, [1]),
        ({"before": 9, "max_bytes": 60_000}, [4, 5]),
        ({"before": 1}, []),
        ({"limit": 0}, []),
    ],
)
async def test_records_are_paged_by_number_and_size(store: Store, options: dict[str, int], seqs: list[int]) -> None:
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "x" * 40_000)) for _ in range(5)])
    assert [each.seq for each in await store.sessions.list_records("s", **options)] == seqs


async def test_the_log_of_a_checkpoint_keeps_its_texts_when_events_are_dropped(store: Store) -> None:
    await store.runs.accept(Run(id="r", session_id="s"))
    await store.runs.begin("r", VirtualClock().now())
    await store_checkpoint(store, "r", {}, [LogWrite(0, 0, [ODD]), LogWrite(1, 0, [{"role": "tool", "content": LONG}])])
    await store.events.append("s", [LoggedEvent("message", {}, "r")])
    await store.events.trim("s", 0)
    assert await store.runs.load_logs("r") == {0: [ODD], 1: [{"role": "tool", "content": LONG}]}


@pytest.mark.parametrize("text", [LONG, ODD, "é" * 40_000])
async def test_a_list_of_runs_has_only_the_beginning_of_large_answers(store: Store, text: str) -> None:
    answers = {"text": text, "short": "whole", "parts": f"Before.\n\n{text}"}
    await store.runs.accept(Run(id="r", session_id="s"))
    await store.runs.begin("r", VirtualClock().now())
    await store_checkpoint(store, "r", {"messages": [text]})
    assert (await store.runs.list(whole=False))[0].checkpoint is None
    await store.runs.finish("r", RunOutcome("completed", answers))
    [listed] = await store.runs.list(whole=False)
    beginnings = {name: answer[:HEAD_CHARACTERS] for name, answer in answers.items()}
    assert listed.response == beginnings
    assert (await store.runs.list())[0].response == answers
