"""`sophon schedules`: add, list, show, pause, resume, next and remove, in the store of a host."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sophon.scheduled_turns import SCHEDULE_KEYS
from sophon_hosting.store.runs.contract import InboundKey, Run, RunError, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database

Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def settings(folder: Path) -> None:
    copy_database(folder)


def test_a_schedule_is_added_listed_shown_paused_resumed_and_removed(sophon: Command) -> None:
    added = sophon(
        "schedules", "add", "tell me the news", "--cron", "0 8 * * *", "--time-zone", "Europe/Vienna", "--json"
    )
    assert added.code == 0
    schedule_id = added.json["schedule_id"]
    assert schedule_id in sophon("schedules", "list").out
    shown = sophon("schedules", "show", schedule_id[:8]).out
    assert "every day at 08:00 (Europe/Vienna)" in shown
    assert shown.rstrip().endswith("tell me the news")
    assert sophon("schedules", "next", schedule_id).out.count("08:00") == 3
    assert sophon("schedules", "pause", schedule_id).out == f"{schedule_id} is paused\n"
    assert sophon("schedules", "next", schedule_id, "--json").json == []
    assert "is active; next:" in sophon("schedules", "resume", schedule_id).out
    assert sophon("schedules", "remove", schedule_id).out == f"{schedule_id} is removed\n"
    assert sophon("schedules", "list", "--json").json == []
    assert sophon("schedules", "list").out == "There are no schedules.\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["add", "x"], "exactly one"),
        (["add", "x", "--cron", "* *"], "2 fields"),
        (["add", "x", "--every", "daily", "--session", "none"], "nobody has written"),
        (["show", "sch_none"], "sch_none"),
        (["remove", "sch_none"], "sch_none"),
    ],
)
def test_wrong_input_gets_one_clear_line(sophon: Command, arguments: list[str], problem: str) -> None:
    outcome = sophon("schedules", *arguments)
    assert outcome.code != 0
    assert problem in outcome.err
    assert "Traceback" not in outcome.err


def test_a_schedule_in_a_chat_belongs_to_whoever_wrote_there_and_answers_there(sophon: Command, folder: Path) -> None:
    async def write() -> None:
        store = SqlHostStore(SQLITE, folder=folder)
        await store.open()
        await store.runs.accept(Run("task", "telegram:7", "telegram:7", "telegram", {"chat": "7"}, "hello", {}), None)
        await store.close()

    asyncio.run(write())
    made = sophon("schedules", "add", "tell me the news", "--every", "daily", "--session", "telegram:7", "--json").json
    assert (made["user"], made["channel"], made["session_id"]) == ("telegram:7", "telegram", "telegram:7")


def test_the_last_firings_are_shown_with_outcome_and_task(sophon: Command, folder: Path) -> None:
    made = sophon("schedules", "add", "tell me the news", "--cron", "0 8 * * *", "--json").json
    assert sophon("schedules", "show", made["schedule_id"], "--json").json["firings"] == []

    async def fire() -> None:
        store = SqlHostStore(SQLITE, folder=folder)
        await store.open()
        for day in range(1, 13):
            run = Run(f"task-{day}", made["session_id"], made["user"], "hub", {}, "news", {})
            key = InboundKey(SCHEDULE_KEYS, made["schedule_id"], f"2026-01-{day:02}T08:00:00+00:00")
            await store.runs.accept(run, key)
        await store.runs.begin("task-12", datetime(2026, 1, 12, 8, tzinfo=UTC))
        await store.runs.finish("task-12", RunOutcome("failed", error=RunError("model", "it broke", "e")))
        await store.close()

    asyncio.run(fire())
    firings = sophon("schedules", "show", made["schedule_id"], "--json").json["firings"]
    assert [each["task_id"] for each in firings] == [f"task-{day}" for day in range(12, 2, -1)]
    assert (firings[0]["outcome"], firings[0]["error"], firings[1]["outcome"]) == ("failed", "it broke", "queued")
    shown = sophon("schedules", "show", made["schedule_id"]).out
    assert "failed (task-12)" in shown
    assert "task-2)" not in shown


def test_doctor_lists_the_tools_of_schedules(sophon: Command) -> None:
    tools = next(line for line in sophon("doctor").out.splitlines() if " tools " in line)
    assert "schedules.add" in tools
