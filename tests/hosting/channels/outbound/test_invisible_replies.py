"""Answers in which nothing is visible: a sentence instead of an empty message."""

from typing import Any

import pytest

from sophon import ModelRequest
from sophon.testing import VirtualClock
from sophon_channels.contract import Channel
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.reply_entries import EMPTY_REPLY, ReplyBuilder
from sophon_hosting.store.runs.contract import Run, RunError, RunOutcome
from tests.channels.contract.test_every_channel import NAMES, made
from tests.hosting.channels.conftest import Brain

pytestmark = pytest.mark.usefixtures("email_package")

INVISIBLE = [
    "",
    " \n",
    "\u200b",
    "\ufeff\u00ad",
    "\u0301\u0302",
    "\u2800",
    "\u3164\uffa0",
    "\ufe0f",
    "\U000e0041",
    "&#8203;",
]


def texts(channel: Channel, outcome: RunOutcome) -> list[str]:
    run = Run("r1", "s1", channel=channel.name, origin={"chat": "10", "reply_to": "5"})
    entries = ReplyBuilder({channel.name: channel}, VirtualClock(), lambda run_id: None)(run, outcome)
    return [str(entry.payload.get("plain") or entry.payload.get("text")) for entry in entries]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", INVISIBLE[:-1])
def test_an_answer_without_visible_text_says_so(name: str, text: str) -> None:
    assert texts(made(name), RunOutcome("completed", {"text": text})) == [EMPTY_REPLY]


@pytest.mark.parametrize("name", ["telegram", "whatsapp"])
@pytest.mark.parametrize("text", ["&#8203;", "```\n\n```", "**&zwnj;**", "[](https://a.example)", "> &#8203;"])
def test_markup_that_shows_nothing_says_so_too(name: str, text: str) -> None:
    shown = texts(made(name), RunOutcome("completed", {"text": text}))
    assert len(shown) == 1
    assert shown == [EMPTY_REPLY] or "https://a.example" in shown[0]


@pytest.mark.parametrize("name", NAMES)
def test_an_invisible_text_before_an_error_leaves_the_error(name: str) -> None:
    outcome = RunOutcome("failed", {"text": "\u200b"}, RunError("x", "it broke"))
    [shown] = texts(made(name), outcome)
    assert shown.startswith("⚠️ This did not work: it broke")


@pytest.mark.parametrize("name", NAMES)
def test_a_stopped_turn_with_an_invisible_text_says_that_it_stopped(name: str) -> None:
    assert texts(made(name), RunOutcome("cancelled", {"text": "\u200b"})) == ["⏹ Stopped."]


class Mute(Brain):
    """Writes what nobody sees."""

    async def answer(self, request: ModelRequest) -> Any:
        return "\u0301\u0301"


async def test_a_turn_whose_model_writes_marks_only_ends_visibly(start) -> None:
    running = await start(channel=SyntheticChannel(), brain=Mute())
    await running.channel.deliver_message("hello")
    await running.channel.wait_until(lambda: running.channel.sent != [])
    assert any(character.isalpha() for character in running.channel.sent_texts()[0])
