"""An answer that is not delivered is never lost silently: the session, the chat and the operator are told."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon_channels.contract import SendAmbiguous, SendUnauthorized, SendUndeliverable
from sophon_channels.errors import ChannelError
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels import connected_channel
from sophon_hosting.channels.outbound import retry_rules, undelivered_answers
from sophon_hosting.store.sql_host_store import SqlHostStore

GONE = SendUndeliverable("403: blocked", is_chat_gone=True)


async def lost(running: Any, result: Any = GONE) -> str:
    """Lose the answer to a message; return its task."""
    running.channel.send_results.append(result)
    await running.channel.deliver_message("hello")
    await running.channel.wait_until(lambda: running.channel.health.counts.get("undelivered", 0) > 0)
    [run] = await running.store.runs.list()
    return str(run.id)


async def events_of(running: Any, session: str) -> list[dict[str, Any]]:
    while True:
        events = await running.store.events.list_after(session, 0, 1000)
        found = [dict(event.data) for event in events if event.name == "answer_undelivered"]
        if found:
            return found
        await asyncio.sleep(0)


async def test_the_session_shows_that_an_answer_was_not_delivered_and_the_run_stays_completed(start) -> None:
    running = await start()
    task = await lost(running)
    [event] = await events_of(running, "synthetic-10")
    assert (event["task_id"], event["reason"], event["detail"]) == (task, "chat_gone", "403: blocked")
    assert (await running.store.runs.get(task)).status == "completed"


async def test_a_chat_that_is_gone_is_told_with_its_next_message_and_not_before(start) -> None:
    running = await start()
    await lost(running)
    assert running.channel.sent == []
    await running.channel.deliver_message("are you there?")
    await running.channel.wait_for_text("/last sends it again")
    await running.channel.wait_for_text("You said: are you there?")


async def test_last_sends_what_was_lost_and_the_notice_comes_once(start) -> None:
    running = await start()
    await lost(running)
    await running.channel.deliver_message("are you there?")
    await running.channel.wait_for_text("You said: are you there?")
    await running.channel.deliver_message("/last")
    await running.channel.wait_for_text("You said: hello")
    await running.channel.wait_for_text("The undelivered answer was sent again.")
    await running.channel.deliver_message("again")
    await running.channel.wait_for_text("You said: again")
    assert sum("/last sends" in text for text in running.channel.sent_texts()) == 1
    assert await running.store.outbox.count_dead() == 0


async def test_last_sends_the_last_answer_again_if_nothing_was_lost(start) -> None:
    running = await start()
    await running.channel.deliver_message("/last")
    await running.channel.wait_for_text("There is no answer in this conversation yet.")
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")
    await running.channel.deliver_message("/last")
    await running.channel.wait_for_text("That was the last answer")
    assert running.channel.sent_texts().count("You said: hello") == 2


async def test_a_message_that_the_platform_rejects_is_told_at_once(start) -> None:
    running = await start()
    await lost(running, SendUndeliverable("400: bad"))
    await running.channel.wait_for_text("could not be delivered")


async def test_an_answer_in_doubt_is_told_as_that(start, monkeypatch) -> None:
    monkeypatch.setattr(retry_rules, "AMBIGUOUS_DELAYS", (retry_rules.AMBIGUOUS_DELAYS[0] * 0,))
    running = await start()
    running.channel.send_results.extend([SendAmbiguous("no answer")] * 2)
    await lost(running, SendAmbiguous("no answer"))
    [event] = await events_of(running, "synthetic-10")
    assert (event["reason"], event["may_have_arrived"]) == ("ambiguous", True)


async def test_a_notice_that_is_lost_itself_comes_with_the_next_message(start) -> None:
    running = await start()
    await lost(running)
    running.channel.send_results.append(GONE)
    await running.channel.deliver_message("/help")
    await running.channel.wait_for_text("list the commands")
    await running.channel.deliver_message("/status")
    await running.channel.wait_for_text("/last sends it again")


async def test_nothing_is_sent_before_the_start_has_ended_and_a_restart_mutes_no_chat(start) -> None:
    first = await start(channel=SyntheticChannel(start_error="not yet"))
    await first.store.outbox.add([entry()])
    await first.end()
    assert first.channel.sent == []
    again = await start(store=first.store)
    await again.channel.wait_for_text("hello")
    assert not again.channel.sent[0].doubtful


async def test_a_rejected_credential_is_tried_again_and_what_waited_is_sent(start, monkeypatch) -> None:
    monkeypatch.setattr(connected_channel, "credential_delay", lambda rejections: 0)
    running = await start()
    running.channel.send_results.append(SendUnauthorized("401"))
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")
    assert [entry.attempts for entry in await running.store.outbox.list(status="sent")] == [1]


class Rejected(SyntheticChannel):
    """Its credential is rejected twice and then replaced."""

    starts = 0

    async def start(self, inbox: Any) -> None:
        self.starts += 1
        if self.starts < 3:
            raise ChannelError("the platform rejects the token")
        await super().start(inbox)


async def test_a_credential_that_was_replaced_is_noticed_and_the_error_is_logged_once(
    start, monkeypatch, caplog
) -> None:
    monkeypatch.setattr(connected_channel, "credential_delay", lambda rejections: 0)
    running = await start(channel=Rejected())
    await running.channel.deliver_message("hello")
    await running.channel.wait_for_text("You said: hello")
    assert sum("cannot run" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.parametrize(("rejections", "seconds"), [(1, 60), (2, 120), (4, 480), (5, 600), (1000, 600)])
def test_the_attempts_after_a_rejected_credential_are_minutes_apart_and_never_an_hour(
    rejections: int, seconds: float
) -> None:
    assert retry_rules.credential_delay(rejections) == seconds


@pytest.mark.parametrize(
    ("runs", "day", "expected"),
    [
        (["a"], 21, "⚠️ An answer from 14:05 UTC could not be delivered. /last sends it again."),
        (["a", "b"], 22, "⚠️ 2 answers since 2026-11-21 14:05 UTC could not be delivered. /last sends them again."),
    ],
)
def test_the_notice_names_the_time_and_the_day_if_it_is_another(runs: list[str], day: int, expected: str) -> None:
    value = {"since": "2026-11-21T14:05:00+00:00", "runs": runs}
    assert undelivered_answers.format_notice(value, datetime(2026, 11, day, 20, tzinfo=UTC)) == expected


def entry() -> Any:

    return OutboundEntry("x:0", None, "synthetic", "bot", "10", "note", {"text": "hello"})


async def test_a_dead_letter_is_never_stored_without_the_event_that_reports_it(start, tmp_path) -> None:
    """So that a host that is killed right after it has given an answer up has told its session, once."""
    store = SqlHostStore(f"sqlite:///{tmp_path / 'killed.db'}")
    await store.open()
    running = await start(store=store)
    running.channel.send_results.append(GONE)
    await running.channel.deliver_message("hello")
    while not await store.outbox.list(status="dead"):
        await asyncio.sleep(0)
    stored = [event.name for event in await store.events.list_after("synthetic-10", 0)]
    assert stored.count("answer_undelivered") == 1
    await running.end()
    again = await start(store=store)
    await again.channel.deliver_message("are you there?", external_id="second")
    await again.channel.wait_for_text("/last sends it again")
    stored = [event.name for event in await store.events.list_after("synthetic-10", 0)]
    assert stored.count("answer_undelivered") == 1
    await again.end()
    await store.close()
