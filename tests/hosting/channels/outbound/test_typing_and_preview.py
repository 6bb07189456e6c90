"""What takes the place of something shown: of a reply that grows, of a question; and nothing is seen twice."""

import asyncio
from typing import Any

from sophon.testing import VirtualClock
from sophon_channels.contract import (
    BeforeRequest,
    ButtonPress,
    ChatLocation,
    SendAmbiguous,
    SendResult,
    before_no_request,
)
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.telegram.channel import TelegramChannel
from sophon_channels.testing import DEFAULT_LOCATION, DEFAULT_PERSON, SyntheticChannel
from sophon_hosting.channels.outbound.reply_entries import ReplyBuilder
from sophon_hosting.channels.outbound.typing_and_preview import TypingAndPreview
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.runs.contract import Run, RunError, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.channels.telegram.bot_api import CUT, BotApi
from tests.channels.telegram.parts import ENVIRONMENT, Box, settings


class Slow(SyntheticChannel):
    """Shows a picture of a reply, or sends a question, but says so only when `gate` is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def update_preview(
        self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
    ) -> str | None:
        made = await super().update_preview(location, text, preview_message_id, reply_to_message_id)
        await self.gate.wait()
        return made

    async def send(self, entry: OutboundEntry, before_request: BeforeRequest = before_no_request) -> SendResult:
        receipt = await super().send(entry, before_request)
        if entry.kind == "question":
            await self.gate.wait()
        return receipt


class Unseen(SyntheticChannel):
    """Never shows that somebody writes."""

    async def send_typing(self, location: ChatLocation, message_id: str) -> None:
        await asyncio.Event().wait()


async def asked(running: Any, text: str = "pay Bob") -> OutboundEntry:
    await running.channel.deliver_message(text)
    await running.channel.wait_until(lambda: any(entry.payload.get("buttons") for entry in running.channel.sent))
    return running.channel.sent[-1]


async def test_an_answer_takes_the_place_of_a_picture_that_was_still_on_its_way(start) -> None:
    running = await start(channel=Slow())
    await running.channel.deliver_message("tell")
    await running.channel.wait_until(lambda: running.channel.previews != [])
    running.brain.gate.set()
    async with asyncio.timeout(60):
        while not await running.store.outbox.list(channel="synthetic"):
            await asyncio.sleep(0)
    running.channel.gate.set()
    await running.channel.wait_for_text("so far and further")
    assert running.channel.sent[-1].payload["replaces"] == "m2"


async def test_an_answer_does_not_wait_for_a_platform_that_hangs_at_showing_that_it_is_made(start) -> None:
    running = await start(channel=Unseen())
    await running.channel.deliver_message("tell")
    await running.channel.wait_until(lambda: running.channel.previews != [])
    running.brain.gate.set()
    await running.channel.wait_for_text("so far and further")


def test_an_error_in_a_group_is_told_though_its_outcome_had_to_be_written_twice() -> None:
    answers = ReplyBuilder({"synthetic": SyntheticChannel()}, VirtualClock(), lambda run: None)
    run = Run("r1", "s", channel="synthetic", origin={"chat": "-20", "kind": "group"})
    outcome = RunOutcome("failed", error=RunError("oops", "it failed"))
    assert len(answers(run, outcome)) == len(answers(run, outcome)) == 1


async def test_a_decision_takes_the_place_of_a_question_that_was_still_being_sent(start) -> None:
    running = await start(channel=Slow())
    question = await asked(running)
    await running.channel.deliver_press(question.payload["buttons"][0])
    async with asyncio.timeout(60):
        while not await running.store.outbox.list(channel="synthetic", status="pending"):
            await asyncio.sleep(0)
    running.channel.gate.set()
    await running.channel.wait_for_text("✅ Approved by Ada")
    decided = next(entry for entry in running.channel.sent if entry.id.startswith("decided:"))
    assert decided.payload["replaces"] == (await running.store.outbox.get(question.id)).platform_id


async def test_a_question_that_was_pressed_has_arrived_and_is_not_asked_again(start) -> None:
    running = await start()
    running.channel.send_results.append(SendAmbiguous("no answer"))
    await running.channel.deliver_message("pay Bob")
    async with asyncio.timeout(60):
        while not await running.store.outbox.list(channel="synthetic", status="ambiguous"):
            await asyncio.sleep(0)
    [question] = await running.store.outbox.list(channel="synthetic")
    await running.channel.deliver(
        ButtonPress("p", DEFAULT_PERSON, DEFAULT_LOCATION, question.payload["buttons"][0], "press", "m77")
    )
    await running.channel.wait_for_text("You said: paid Bob")
    await running.channel.wait_for_text("✅ Approved by Ada")
    assert not any("buttons" in entry.payload and entry.payload["buttons"] for entry in running.channel.sent)
    decided = next(entry for entry in running.channel.sent if entry.id.startswith("decided:"))
    assert decided.payload["replaces"] == "m77"


async def test_what_an_earlier_conversation_began_is_still_stopped_and_decided(start) -> None:
    running = await start(AgentExecution={"MaxConcurrentTasks": 2, "Titles": False})
    await asked(running)
    await running.channel.deliver_message("/new")
    await running.channel.deliver_message("/pending")
    assert "Run pay" in await running.channel.wait_for_text("/approve ID or /reject")
    await running.channel.deliver_message("/stop")
    await running.channel.wait_for_text("⏹ Stopped.")


async def test_of_another_chat_nothing_is_listed_or_stopped(start) -> None:
    running = await start()
    await asked(running)
    other = ChatLocation("77")
    await running.channel.deliver_message("/pending", location=other)
    await running.channel.wait_for_text("Nothing waits for a decision.", other)
    await running.channel.deliver_message("/stop", location=other)
    await running.channel.wait_for_text("Nothing is running.", other)


async def test_an_answer_waits_for_a_picture_on_its_way_some_seconds_and_not_for_ever() -> None:
    clock, channel = VirtualClock(), Slow()
    store = SqlHostStore("memory://", clock=clock)
    origin = {"chat": "10", "place": {"chat": "10"}}
    run = (await store.runs.accept(Run("r1", "s", channel="synthetic", origin=origin))).run
    presence = TypingAndPreview({"synthetic": channel}, store, clock)
    presence.handle_event(WireEvent("task_started", {}, "s", run.id))
    presence.handle_event(WireEvent("stream_chunk", {"text": "so far"}, "s", run.id))
    await channel.wait_until(lambda: channel.previews != [])
    await presence.wait_until_idle(run.id)
    assert presence.find_preview(run.id) is None
    await presence.stop()


def stream(presence: TypingAndPreview, run: Run, text: str) -> None:
    presence.handle_event(WireEvent("stream_chunk", {"text": text}, run.session_id, run.id))


async def accept(store: SqlHostStore, channel: str) -> Run:
    origin = {"chat": "10", "place": {"chat": "10"}}
    return (await store.runs.accept(Run("r1", "s", channel=channel, origin=origin))).run


async def test_a_preview_that_appears_after_its_answer_is_deleted() -> None:
    clock, channel = VirtualClock(), Slow()
    store = SqlHostStore("memory://", clock=clock)
    run = await accept(store, "synthetic")
    presence = TypingAndPreview({"synthetic": channel}, store, clock)
    presence.handle_event(WireEvent("task_started", {}, "s", run.id))
    stream(presence, run, "so far")
    await channel.wait_until(lambda: channel.previews != [])
    await presence.wait_until_idle(run.id)  # the answer is sent now, and replaces nothing
    channel.gate.set()
    await channel.wait_until(lambda: channel.deleted != [])
    assert (channel.deleted, presence.find_preview(run.id)) == ([("10", "m1")], None)
    assert await store.channel_state.list("preview") == []
    await presence.stop()


async def test_a_preview_whose_fate_is_unknown_is_followed_by_no_other() -> None:
    clock = VirtualClock()
    store = SqlHostStore("memory://", clock=clock)
    async with BotApi().serving() as api:
        api.script("sendMessage", CUT)
        channel = TelegramChannel(settings(api.base), ENVIRONMENT, clock)
        await channel.start(Box())
        run = await accept(store, "telegram")
        presence = TypingAndPreview({"telegram": channel}, store, clock)
        presence.handle_event(WireEvent("task_started", {}, "s", run.id))
        for number in range(20):
            stream(presence, run, f"{number} ")
            await api.called("sendMessage")
            await clock.sleep(3)
            await api.called("sendChatAction", number // 2 + 1)  # the turn is still displayed
        await presence.wait_until_idle(run.id)
        assert len(api.of("sendMessage")) == 1
        assert presence.find_preview(run.id) is None
        await presence.stop()
        await channel.stop()
        assert api.problems == []
