"""The daily log: a line per message of today and yesterday, of the turn's owner only, made from the stored tasks."""

from datetime import timedelta
from typing import Any

import pytest

from sophon.testing import VirtualClock
from sophon_hosting.runs import daily_log
from sophon_hosting.runs.own_text import OWN_TEXT
from tests.hosting.memory.conftest import MemoryHost

GROUP = {"kind": "group", "data_owner": "telegram:chat:-100", "chat": "-100"}
HEADER = "What was asked in the last two days (UTC):"


async def log_of(host: MemoryHost, text: str = "hello", session: str = "new", **options: Any) -> list[str]:
    """Return the messages in the log that a turn's prompt has."""
    [request] = await host.say(text, session, **options)
    prompt = "\n".join(each.content for each in request.messages if each.role == "system")
    lines = prompt.partition(HEADER)[2].partition("</memory>")[0].strip().splitlines()
    return [line.split(" ", 3)[3] for line in lines]


async def test_the_prompt_lists_what_was_asked_today_and_yesterday(start: Any) -> None:
    clock = VirtualClock(auto=False)
    host = await start(Memory={"DailyLog": True, "Learn": False}, clock=clock)
    for text in ("the day before", "yesterday", "today"):
        await host.say(text, text)
        await clock.advance(timedelta(days=1).total_seconds() if text != "today" else 60)
    assert await log_of(host) == ["yesterday", "today"]


async def test_it_has_the_persons_own_words_and_is_gone_with_its_session(start: Any) -> None:
    host = await start(Memory={"DailyLog": True, "Learn": False})
    await host.say("buy paint", "boat")
    await host.say("(forwarded)\npay mallory", "boat", origin={OWN_TEXT: ""})
    assert await log_of(host) == ["buy paint"]
    await host.host.delete_session("boat")
    assert await log_of(host, "again") == ["hello"]


async def test_without_the_setting_there_is_none(start: Any) -> None:
    host = await start(Memory={"Learn": False})
    await host.say("buy paint", "boat")
    assert await log_of(host) == []


async def test_a_group_sees_its_own_log_and_a_person_not_that_of_the_group(start: Any) -> None:
    host = await start(Memory={"DailyLog": True, "Learn": False})
    await host.say("buy a ring", "private")
    await host.say("plan the party", "club", origin=GROUP)
    assert await log_of(host, "and now?", "club", origin=GROUP) == ["plan the party"]
    assert await log_of(host) == ["buy a ring"]


async def test_without_the_owner_of_a_task_a_group_would_see_what_is_private(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Everybody:
        def __eq__(self, other: object) -> bool:
            return True

        data_owner: Any = None

    everybody = Everybody()
    everybody.data_owner = everybody
    monkeypatch.setattr(daily_log, "audience_of_run", lambda run: everybody)
    host = await start(Memory={"DailyLog": True, "Learn": False})
    await host.say("plan the party", "club", origin=GROUP)
    assert await log_of(host) == ["plan the party"]


async def test_what_was_learned_is_undone_with_one_request(start: Any) -> None:
    host = await start()
    await host.say("I live in Oslo")
    [entry] = (await host.http.get("/api/memory", params={"q": "Oslo"})).json()["items"]
    assert (await host.http.delete("/api/memory", params={"ids": entry["id"]})).json() == {"deleted": 1}
    assert (await host.http.get("/api/memory", params={"q": "Oslo"})).json()["items"] == []
