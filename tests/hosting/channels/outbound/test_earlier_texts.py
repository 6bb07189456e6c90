"""What a model writes before a tool call reaches the chat, in its order; its reasoning does not."""

from typing import Any

from sophon.testing import VirtualClock
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.typing_and_preview import TypingAndPreview
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore


def all_text(running: Any) -> str:
    return "\n".join(running.channel.sent_texts())


async def test_an_answer_has_the_text_before_its_calls(start: Any) -> None:
    running = await start()
    await running.channel.deliver_message("narrate")
    await running.channel.wait_for_text("Let me look.\n\nYou said: 42")
    assert "Hm." not in all_text(running)


async def test_a_stopped_turn_keeps_what_it_had_written(start: Any) -> None:
    running = await start()
    await running.channel.deliver_message("narrate and wait")
    await running.brain.reached.wait()
    await running.channel.deliver_message("/stop")
    await running.channel.wait_for_text("Let me look.\n\n⏹ Stopped.")


async def test_an_error_stands_below_what_was_written(start: Any) -> None:
    running = await start()
    await running.channel.deliver_message("narrate and fail")
    await running.channel.wait_until(lambda: "did not work" in all_text(running))
    text = all_text(running)
    assert text.index("Let me look.") < text.index("did not work")


async def test_the_preview_of_a_resumed_turn_keeps_the_text_before_the_approval() -> None:
    clock, channel = VirtualClock(), SyntheticChannel()
    store = SqlHostStore("memory://", clock=clock)
    origin = {"chat": "10", "place": {"chat": "10"}}
    run = (await store.runs.accept(Run("r1", "s", channel="synthetic", origin=origin))).run
    presence = TypingAndPreview({"synthetic": channel}, store, clock)

    def tell(name: str, **data: Any) -> None:
        presence.handle_event(WireEvent(name, data, "s", run.id))

    tell("task_started")
    tell("stream_chunk", epoch=1, text="I shall pay.")
    await channel.wait_until(lambda: channel.previews != [])
    tell("approval_requested")
    await presence.wait_until_idle(run.id)
    tell("approval_resolved")
    tell("stream_chunk", epoch=1, text="\n\nPaid.")
    await channel.wait_until(lambda: len(channel.previews) > 1)
    await presence.stop()
    assert channel.previews[-1][1] == "I shall pay.\n\nPaid."
