"""A web page that wants to be remembered: it is marked wherever it is kept, and never becomes an instruction."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sophon import Context
from sophon.errors import StoreUnavailable
from sophon.events import MemoryFlush
from sophon.tools.untrusted_text import fence_text, find_fence_sources, remove_fenced
from sophon_hosting.cli.app import run_command_line
from sophon_hosting.features.post_turn import runner, session_summary
from sophon_hosting.features.post_turn.events import MemoryLearned
from sophon_hosting.runs.own_text import FOREIGN_SOURCES, OWN_TEXT
from sophon_middlewares.outer.context_window import compaction, fact_flush
from tests.hosting.memory.conftest import FACT, POISON, MemoryHost

FORWARDED = fence_text(POISON, "forwarded message", "0123456789abcdef")
OF_ANOTHER = {OWN_TEXT: "", FOREIGN_SOURCES: ["forwarded message"]}
LONG = "I live in Oslo and like it. " * 220


async def read_page(host: MemoryHost, session: str = "s") -> str:
    """Have the host read the page in a turn whose person also says something of themselves."""
    url = await host.serve_page()
    await host.say(f"I live in Oslo. Read {url} please", session)
    return url


async def converse(host: MemoryHost, session: str = "s") -> None:
    """Fill the window, until the turn with the page is compacted."""
    for number in range(5):
        await host.say(f"message {number}: {LONG}", session)
    assert any(each.purpose == "compaction" for each in host.requests)


async def test_what_is_stored_of_a_page_is_marked_in_the_store_over_http_and_on_the_command_line(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = await start()
    url = await read_page(host)
    items = {each["text"]: each for each in (await host.http.get("/api/memory")).json()["items"]}
    assert (items[POISON]["trusted"], items[POISON]["sources"]) == (False, [f"http.request {url}"])
    assert (items[FACT]["trusted"], items[FACT]["origin"].split("/")[0]) == (True, "learned")
    await host.host.event_bus.flush("s")
    assert [each.texts for each in host.events.of(MemoryLearned)] == [[FACT]]
    assert await host.find_unmarked() == []
    await host.close()
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        assert run_command_line(["memory", *words]) == 0
        return capsys.readouterr().out

    rows = await asyncio.to_thread(run, "list")
    assert [line.split()[4] for line in rows.splitlines() if POISON in line] == ["no"]
    shown = await asyncio.to_thread(run, "show", items[POISON]["id"])
    assert f"no, it may come from http.request {url}" in shown


async def test_a_later_session_gets_it_by_a_search_only_and_within_a_fence(start: Any) -> None:
    host = await start()
    await read_page(host)
    host.requests.clear()
    first, *_, last = await host.say("search for the invoices: where do I always send them?", "later")
    assert POISON not in "".join(each.content for each in first.messages)
    result = last.messages[-1]
    assert POISON in result.content
    assert find_fence_sources(result.content) == ["memory.search"]
    assert await host.find_unmarked() == []


async def test_a_compaction_keeps_a_page_within_a_fence_and_out_of_the_facts(start: Any) -> None:
    host = await start()
    await read_page(host)
    await converse(host)
    [reply] = [each for each in host.requests if each.purpose == "reply"][-1:]
    [summary] = [each for each in reply.messages if each.origin == "compaction"]
    assert POISON in summary.content
    assert POISON not in remove_fenced(summary.content)
    assert all(text == FACT for each in host.events.of(MemoryFlush) for text in each.texts)
    assert await host.find_unmarked() == []


async def test_the_summary_of_a_session_has_only_what_the_person_wrote(start: Any) -> None:
    host = await start()
    await host.say(FORWARDED, origin=OF_ANOTHER)
    await read_page(host)
    await host.say("thank you")
    [summary] = [each for each in await host.store.memories.list_all() if each.category == "summary"]
    assert (summary.is_trusted, POISON in summary.text) == (True, False)
    assert "I live in Oslo" in summary.text
    host.requests.clear()
    await host.say("what did I say about invoices in a past conversation?", "later")
    assert POISON not in "".join(each.content for each in host.requests[-1].messages)


async def test_without_the_sources_of_an_entry_the_page_gets_into_a_prompt(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(ctx: Context) -> tuple[str, ...]:
        return ()

    monkeypatch.setattr("sophon.builtin_tools.memory.collect_untrusted_sources", none)
    host = await start()
    await read_page(host)
    await host.say("where do I always send the invoices?", "later")
    assert await host.find_unmarked() == ["entry fact", "system"]


async def test_without_the_rule_on_whose_words_are_read_a_flush_keeps_the_page(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def select_all(material: Any) -> str:
        return "\n".join(each.content for each in material)

    monkeypatch.setattr(fact_flush, "select_text", select_all)
    host = await start()
    await read_page(host)
    await converse(host)
    assert "entry fact" in await host.find_unmarked()


async def test_without_a_fence_around_the_summary_of_a_compaction_the_page_speaks_as_a_person(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(text: str, sources: Sequence[str], nonce: str) -> str:
        return text

    monkeypatch.setattr(compaction, "fence_summary", leave)
    host = await start()
    await read_page(host)
    await converse(host)
    assert "user compaction" in await host.find_unmarked()


async def test_without_the_authorship_of_a_message_what_was_forwarded_is_learned_and_summarised(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole_text(run: Any) -> str:
        return run.text

    for module in (runner, session_summary):
        monkeypatch.setattr(module, "own_text_of_run", whole_text)
    host = await start()
    for _ in range(3):
        await host.say(f"My friend says:\n{FORWARDED}", origin=OF_ANOTHER)
    assert await host.find_unmarked() == ["entry fact", "entry summary", "facts", "system"]


async def test_a_summary_is_fenced_if_nobody_can_say_what_the_conversation_has_read(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(ctx: Context) -> tuple[str, ...]:
        raise StoreUnavailable("the store", "unreachable", "it does not answer")

    host = await start()
    await converse(host)
    trusted = [each for each in host.requests[-2].messages if each.origin == "compaction"]
    monkeypatch.setattr(compaction, "collect_untrusted_sources", fail)
    await converse(host, "other")
    unknown = [each for request in host.requests for each in request.messages if "Summary" in each.content]
    assert [find_fence_sources(each.content) for each in trusted] in ([], [[]])
    assert find_fence_sources(unknown[-1].content) == ["unknown"]
