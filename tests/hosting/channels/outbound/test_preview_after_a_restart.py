"""A preview that was growing when the process ended is replaced by whatever the turn ends with."""

from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, ToolCall
from sophon.testing import FunctionModel, VirtualClock
from sophon_channels.contract import ChatLocation
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.reply_entries import ReplyBuilder
from sophon_hosting.store.runs.contract import Run, RunError, RunOutcome
from tests.hosting.channels.conftest import Brain

GROUP = ChatLocation("-20", "group")


class Changed(Brain):
    """Does something else than what the earlier process was about to do."""

    def __init__(self, reply: ModelResponse | Exception) -> None:
        super().__init__()
        self._reply = reply

    def model(self) -> FunctionModel:
        return FunctionModel(self.respond, name="brain", stream=True, prices=(1.0, 1.0))

    async def respond(self, request: ModelRequest) -> ModelResponse:
        if isinstance(self._reply, Exception):
            raise self._reply
        return ModelResponse("Paid.") if request.messages[-1].role == "tool" else self._reply


async def torn(start: Any, location: ChatLocation | None = None) -> Any:
    """A host that ended while its preview grew, with the id of the preview in `previews`."""
    running = await start()
    place = {"location": location, "is_mention": True} if location else {}
    await running.channel.deliver_message("tell", **place)
    await running.channel.wait_until(lambda: running.channel.previews != [])
    while not await running.store.channel_state.list("preview"):
        await running.host.services.clock.sleep(0)
    await running.end()
    return running


def replaced(running: Any) -> list[tuple[str, str]]:
    """The texts of the messages that replaced a preview, with the id of the message."""
    return [
        (each.payload["text"], each.payload["replaces"]) for each in running.channel.sent if each.payload["replaces"]
    ]


async def test_the_answer_of_a_resumed_turn_replaces_the_preview_of_the_process_before(start: Any) -> None:
    first = await torn(start)
    again = await start(store=first.store, brain=Changed(ModelResponse("so far and further")))
    await again.channel.wait_for_text("so far and further")
    assert [text for text, _ in replaced(again)] == ["so far and further"]
    [note] = await again.store.channel_state.list("preview")
    assert replaced(again)[0][1] == note.value["message"]


async def test_a_resumed_turn_shows_its_preview_in_the_message_of_the_process_before(start: Any) -> None:
    first = await torn(start)
    shown: list[str | None] = []

    class Watched(SyntheticChannel):
        async def update_preview(
            self, location: ChatLocation, text: str, preview_message_id: str | None, reply_to_message_id: str | None
        ) -> str | None:
            shown.append(preview_message_id)
            return await super().update_preview(location, text, preview_message_id, reply_to_message_id)

    again = await start(store=first.store, channel=Watched())
    await again.channel.wait_until(lambda: shown != [])
    [note] = await again.store.channel_state.list("preview")
    assert shown[0] == note.value["message"]


async def test_what_fails_after_a_restart_replaces_the_preview(start: Any) -> None:
    first = await torn(start)
    again = await start(store=first.store, brain=Changed(RuntimeError("nobody foresaw this")))
    await again.channel.wait_for_text("did not work")
    assert len(replaced(again)) == 1


async def test_what_is_stopped_after_a_restart_replaces_the_preview(start: Any) -> None:
    first = await torn(start)
    again = await start(store=first.store)
    await again.channel.deliver_message("/stop", external_id="stop")
    await again.channel.wait_for_text("⏹ Stopped.")
    await again.channel.wait_until(lambda: replaced(again) != [])


async def test_what_was_cancelled_before_it_could_be_resumed_replaces_the_preview(start: Any) -> None:
    first = await torn(start)
    [run] = await first.store.runs.list()
    await first.store.runs.request_cancel(run.id)
    again = await start(store=first.store)
    await again.channel.wait_until(lambda: replaced(again) != [])
    assert "Stopped" in replaced(again)[0][0]


async def test_a_question_after_a_restart_is_asked_below_a_whole_preview(start: Any) -> None:
    first = await torn(start)
    call = ToolCall("c", "pay", {"to": "Bob"})
    again = await start(store=first.store, brain=Changed(ModelResponse("I shall pay Bob.", [call])))
    await again.channel.wait_for_text("May pay run?")
    # In the preview itself, or as a message that replaces it before the question.
    shown = [*again.channel.previews[-1:], *replaced(again)]
    assert shown[0][-1 if again.channel.previews else 0] == "I shall pay Bob."
    approve, *_ = again.channel.sent[-1].payload["buttons"]
    await again.channel.deliver_press(approve)
    await again.channel.wait_for_text("Paid.")
    assert replaced(again)[-1][0] == "I shall pay Bob.\n\nPaid."


async def test_a_question_without_a_word_before_it_leaves_no_torn_preview(start: Any) -> None:
    first = await torn(start)
    call = ToolCall("c", "pay", {"to": "Bob"})
    again = await start(store=first.store, brain=Changed(ModelResponse("", [call])))
    await again.channel.wait_for_text("May pay run?")
    assert not any("so far" in text for text, _ in replaced(again))
    assert len(replaced(again)) == 1


@pytest.mark.parametrize("preview", ["m7", None])
def test_an_error_that_a_group_would_not_be_told_again_is_told_in_place_of_a_preview(preview: str | None) -> None:
    answers = ReplyBuilder({"synthetic": SyntheticChannel()}, VirtualClock(), lambda run: preview)
    outcome = RunOutcome("failed", error=RunError("oops", "it failed"))
    runs = [Run(name, "s", channel="synthetic", origin={"chat": "-20", "kind": "group"}) for name in ("r1", "r2")]
    assert [len(answers(run, outcome)) for run in runs] == [1, 1 if preview else 0]
