"""A large answer arrives whole in a chat, and the work for it grows no faster than the answer."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse
from sophon.testing import FunctionModel, VirtualClock
from sophon_channels.contract import OutboundMessage
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.typing_and_preview import TypingAndPreview
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.hosting.channels.conftest import Brain

SIZE = 400_000
WORDS = "".join(f"{number:07} " for number in range(SIZE // 8))
"""Words that are all different, so that one that is lost, doubled or in another place is noticed."""


class LongBrain(Brain):
    """Answers at great length, in pieces of eight characters."""

    def model(self) -> FunctionModel:
        async def answer(_: ModelRequest) -> str | ModelResponse:
            return WORDS

        return FunctionModel(answer, name="long", stream=True)


class WatchedChannel(SyntheticChannel):
    """Counts the characters that it renders, and records in which threads it renders large texts."""

    def __init__(self) -> None:
        super().__init__()
        self.rendered = 0
        self.threads: set[int] = set()

    def render_payloads(self, message: OutboundMessage) -> list[dict[str, Any]]:
        self.rendered += len(message.text)
        if len(message.text) > 1000:
            self.threads.add(threading.get_ident())
        return super().render_payloads(message)


@pytest.mark.parametrize("store_url", ["memory", "sqlite:///sophon.db"])
async def test_a_large_answer_arrives_whole_and_in_order_and_is_rendered_once_in_another_thread(
    start: Callable[..., Any], tmp_path: Path, store_url: str
) -> None:
    store = SqlHostStore("memory://") if store_url == "memory" else host_store_from_url(store_url, folder=tmp_path)
    channel = WatchedChannel()
    await start(brain=LongBrain(), store=store, channel=channel)
    last_word = WORDS.split()[-1]
    await channel.deliver_message("tell me everything")
    await channel.wait_until(lambda: bool(channel.sent) and last_word in str(channel.sent[-1].payload["text"]))

    assert " ".join(channel.sent_texts()).split() == WORDS.split()
    assert all(len(text) <= 4096 for text in channel.sent_texts())
    assert len(channel.sent) > 50
    previewed = 1 if channel.previews else 0  # the first part is rendered again to replace the preview
    assert channel.rendered <= (1 + previewed) * len(WORDS)
    assert channel.threads
    assert threading.get_ident() not in channel.threads


class Chunk(str):
    """A text that counts the characters that are copied when it is appended to another one."""

    copied = 0

    def __str__(self) -> str:
        return self

    def __radd__(self, other: str) -> str:
        Chunk.copied += len(other) + len(self)
        return str.__add__(other, self)


async def test_a_preview_copies_no_text_at_each_of_its_chunks() -> None:
    previews = TypingAndPreview({}, SqlHostStore("memory://"), VirtualClock())
    Chunk.copied = 0
    previews.handle_event(WireEvent("task_started", {}, "s", "t"))
    for _ in range(10_000):
        previews.handle_event(WireEvent("stream_chunk", {"epoch": 0, "text": Chunk("four")}, "s", "t"))
    assert Chunk.copied <= 40_000
    await previews.stop()


async def test_a_reply_above_the_limit_is_told_once_in_the_chat(start: Callable[..., Any]) -> None:
    settings = {"MaxConcurrentTasks": 1, "Titles": False, "MaxReplyBytes": 10_000}
    running = await start(brain=LongBrain(), AgentExecution=settings)
    await running.channel.deliver_message("tell me everything")
    told = await running.channel.wait_for_text("AgentExecution.MaxReplyBytes")
    assert told.startswith("⚠️ This did not work: ")
    assert sum("MaxReplyBytes" in text for text in running.channel.sent_texts()) == 1
    assert [run.error.code for run in await running.store.runs.list()] == ["response_too_large"]
