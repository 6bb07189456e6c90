"""What every store promises about the tool calls of a run."""

from sophon.messages import ToolResult
from sophon.stores.contract import Store
from sophon.stores.tool_call_journal.contract import JournalEntry

DONE = ToolResult("c1", "mail.send", "sent \ud83d", "completed", 12)


async def test_a_started_call_has_no_result_yet(store: Store):
    await store.journal.start("run", "c1", "mail.send")
    assert await store.journal.load_entries("run") == {"c1": JournalEntry("c1", "mail.send")}


async def test_a_finished_call_has_its_result(store: Store):
    await store.journal.start("run", "c1", "mail.send")
    await store.journal.finish("run", DONE)
    assert await store.journal.load_entries("run") == {"c1": JournalEntry("c1", "mail.send", DONE)}


async def test_a_call_that_is_finished_without_a_start_is_kept_too(store: Store):
    await store.journal.finish("run", DONE)
    assert await store.journal.load_entries("run") == {"c1": JournalEntry("c1", "mail.send", DONE)}


async def test_a_call_that_starts_again_has_no_result_again(store: Store):
    await store.journal.finish("run", DONE)
    await store.journal.start("run", "c1", "mail.send")
    assert await store.journal.load_entries("run") == {"c1": JournalEntry("c1", "mail.send")}


async def test_the_entries_are_the_callers_own_and_of_one_run(store: Store):
    await store.journal.start("run", "c1", "t")
    await store.journal.start("run/step", "c2", "t")
    (await store.journal.load_entries("run")).clear()
    assert set(await store.journal.load_entries("run")) == {"c1"}
    assert await store.journal.load_entries("other") == {}


async def test_a_run_is_forgotten_with_its_plan_steps_and_no_other(store: Store):
    kept = ("run2", "Run", "other/run", "ru", "run_/x")
    for run in ("run", "run/a", "run/a/b", *kept):
        await store.journal.start(run, "c", "t")
    await store.journal.delete("run")
    for run in ("run", "run/a", "run/a/b"):
        assert await store.journal.load_entries(run) == {}
    for run in kept:
        assert await store.journal.load_entries(run)


async def test_a_plan_step_is_forgotten_without_its_siblings(store: Store):
    for run in ("run", "run/a", "run/a/b", "run/ab", "run/A/b", "run/%"):
        await store.journal.start(run, "c", "t")
    await store.journal.delete("run/a")
    assert await store.journal.load_entries("run/a/b") == {}
    for run in ("run", "run/ab", "run/A/b", "run/%"):
        assert await store.journal.load_entries(run)


async def test_steps_of_a_run_of_any_characters_are_forgotten(store: Store):
    await store.journal.start("run/\ud83d/\x00", "c", "t")
    await store.journal.delete("run/\ud83d")
    assert await store.journal.load_entries("run/\ud83d/\x00") == {}


async def test_forgetting_an_unknown_run_does_no_harm(store: Store):
    await store.journal.delete("nothing/there")
    await store.journal.delete("nothing")
