"""A stored history is looked at once: counted, serialised and validated off the event loop, and not again later."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sophon import Message, ModelRequest, Services, ToolCall
from sophon.models.providers.openai.request import RequestWriter, prepare_message
from sophon.models.providers.provider_factory import override_info
from sophon.models.token_counter import (
    MAX_INLINE_CHARACTERS,
    PIECE_CHARACTERS,
    PIECE_MESSAGES,
    is_worth_a_thread,
    split_into_pieces,
)
from sophon.stores.factory import store_from_url
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import FunctionModel
from sophon_middlewares.chains import twelve
from tests.databases import SQLITE, copy_database

TEXT = "The quick brown fox jumps over the lazy dog. " * 4
WAIT_SECONDS = 30.0


class PreparingModel(FunctionModel):
    """Builds the provider's request, as the OpenAI adapter does; notes what it has prepared, and in which threads."""

    def __init__(self) -> None:
        super().__init__(self._answer, context_window=10_000_000)
        self.writer = RequestWriter("model")
        self.prepared: list[Message] = []
        self.threads: set[int] = set()

    def prepare_message(self, message: Message) -> None:
        self.threads.add(threading.get_ident())
        self.prepared.append(message)
        prepare_message(message)

    async def _answer(self, request: ModelRequest) -> str:
        self.unserialised = [message for message in request.messages if message.wire is None]
        self.body = self.writer.write(request)
        return "fine"


class CountedTexts:
    """A tokenizer that notes what it counts on the event loop, and what in other threads."""

    def __init__(self) -> None:
        self.loop_thread = threading.get_ident()
        self.on_loop: list[str] = []
        self.off_loop: list[str] = []

    def __call__(self, text: str) -> int:
        (self.on_loop if threading.get_ident() == self.loop_thread else self.off_loop).append(text)
        return len(text)


def conversation(count: int) -> list[SessionRecord]:
    return [
        SessionRecord("message", "r", Message(("user", "assistant")[number % 2], f"{number} {TEXT}"))
        for number in range(count)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path


@asynccontextmanager
async def opened(folder: Path, model: Any) -> AsyncIterator[Services]:
    services = Services(
        models=model, store=store_from_url(SQLITE, folder=folder), settings={"Planning": {"Mode": "Never"}}
    )
    async with services:
        yield services


async def test_a_history_is_counted_and_serialised_once_and_not_on_the_event_loop(folder: Path) -> None:
    model = PreparingModel()
    async with opened(folder, model) as services:
        await services.store.sessions.append("s", conversation(1000))
        counted = services.gateway.tokens.count_text = CountedTexts()
        await twelve(services).run(services.turn("hello", session_id="s"))
        stored = {record.message.content for record in conversation(1000) if record.message}
        assert (set(counted.off_loop), len(counted.off_loop)) == (stored, 1000)
        assert not stored & set(counted.on_loop)
        assert {message.content for message in model.prepared} == stored
        assert threading.get_ident() not in model.threads
        assert [message.content for message in model.unserialised] == ["hello"]

        first, counted.on_loop, counted.off_loop, model.prepared = model.body, [], [], []
        await twelve(services).run(services.turn("again", session_id="s"))
        assert set(counted.on_loop + counted.off_loop) <= {"hello", "fine", "again", ""}
        assert len(counted.on_loop + counted.off_loop) < 10
        assert (len(model.prepared), [message.content for message in model.unserialised]) == (
            0,
            ["hello", "fine", "again"],
        )
        assert model.body.count(b'"role"') == first.count(b'"role"') + 2


async def test_the_function_calls_of_a_turn_do_not_grow_with_its_history(folder: Path) -> None:
    calls: dict[int, int] = {}
    async with opened(folder, PreparingModel()) as services:
        chain = twelve(services)
        for length in (200, 6000):  # both are prepared in a thread; a short history is not
            await services.store.sessions.append(f"s{length}", conversation(length))
            for _ in range(3):
                await chain.run(services.turn("hello", session_id=f"s{length}"))
            with CallCounter() as counter:
                await chain.run(services.turn("hello", session_id=f"s{length}"))
            calls[length] = counter.calls
    assert calls[200] > 300
    assert calls[6000] < calls[200] + 200  # the number of passes of the loop varies


class CallCounter:
    """Counts the function calls of this thread, those of C functions too."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> "CallCounter":
        self._before: Callable[..., Any] | None = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            self.calls += 1


async def test_the_event_loop_runs_while_a_history_is_counted(folder: Path) -> None:
    loop, has_run = asyncio.get_running_loop(), threading.Event()

    def count(text: str) -> int:
        """Wait until the loop has run a callback: on the loop itself that would be for ever."""
        if not has_run.is_set():
            loop.call_soon_threadsafe(has_run.set)
            is_on_loop = threading.current_thread() is threading.main_thread()
            assert has_run.wait(0 if is_on_loop else WAIT_SECONDS)
        return len(text)

    async with opened(folder, PreparingModel()) as services:
        await services.store.sessions.append("s", conversation(100))
        services.gateway.tokens.count_text = count
        await twelve(services).run(services.turn("hello", session_id="s"))


async def test_a_history_is_counted_again_off_the_loop_when_a_tokenizer_was_loaded(folder: Path) -> None:
    async with opened(folder, PreparingModel()) as services:
        await services.store.sessions.append("s", conversation(100))
        await twelve(services).run(services.turn("hello", session_id="s"))
        counted = services.gateway.tokens.count_text = CountedTexts()
        services.gateway.tokens.name = "another"
        await twelve(services).run(services.turn("hello", session_id="s"))
        assert len([text for text in counted.off_loop if TEXT in text]) == 100
        assert not [text for text in counted.on_loop if TEXT in text]


async def test_a_long_message_of_the_user_is_counted_off_the_loop(folder: Path) -> None:
    async with opened(folder, PreparingModel()) as services:
        counted = services.gateway.tokens.count_text = CountedTexts()
        long = "x" * (MAX_INLINE_CHARACTERS + 1)
        await twelve(services).run(services.turn(long, session_id="s"))
        assert long in counted.off_loop
        assert long not in counted.on_loop


async def test_a_broken_history_is_repaired_in_every_turn(folder: Path) -> None:
    call = SessionRecord("message", "r", Message("assistant", "", [ToolCall("c", "look")]))
    model = PreparingModel()
    async with opened(folder, model) as services:
        await services.store.sessions.append("s", [*conversation(2 * PIECE_MESSAGES), call, *conversation(1)])
        for _ in range(3):
            await twelve(services).run(services.turn("hello", session_id="s"))
            roles = [message.role for message in model.requests[-1].messages]
            assert roles[2 * PIECE_MESSAGES :][:3] == ["assistant", "tool", "user"]


async def test_the_token_count_of_a_turn_is_that_of_its_whole_history(folder: Path) -> None:
    seen: list[int | None] = []

    async def answer(request: ModelRequest) -> str:
        seen.append(request.input_tokens)
        assert request.input_tokens == services.gateway.tokens.count_request(request)
        return "fine"

    async with opened(folder, FunctionModel(answer, context_window=10_000_000)) as services:
        await services.store.sessions.append("s", conversation(300))
        for _ in range(3):
            await twelve(services).run(services.turn("hello", session_id="s"))
    assert min(each or 0 for each in seen) > 300


async def test_a_history_in_memory_needs_no_thread() -> None:
    model = PreparingModel()
    services = Services(models=model, settings={"Planning": {"Mode": "Never"}})
    await services.store.sessions.append("s", conversation(500))
    await twelve(services).run(services.turn("hello", session_id="s"))
    assert model.prepared == []


def test_pieces_are_bounded_and_lose_nothing() -> None:
    messages = [
        *(Message("user", "x") for _ in range(2 * PIECE_MESSAGES + 1)),
        *(Message("user", "x" * (PIECE_CHARACTERS // 2)) for _ in range(3)),
        Message("user", "x" * (2 * PIECE_CHARACTERS)),
        Message("user", "x"),
    ]
    pieces = list(split_into_pieces(messages))
    assert [message for piece in pieces for message in piece] == messages
    assert [len(piece) for piece in pieces] == [PIECE_MESSAGES, PIECE_MESSAGES, 2, 1, 1, 1, 1]
    assert list(split_into_pieces([])) == []


def test_little_text_is_not_worth_a_thread() -> None:
    short, long = Message("user", "x"), Message("user", "x" * MAX_INLINE_CHARACTERS)
    call = Message("assistant", "", [ToolCall("c", "write", {"text": long.content})])
    assert [is_worth_a_thread(each, 0) for each in ([short], [long], [call], [short] * 200)] == [
        False,
        True,
        True,
        True,
    ]
    assert not is_worth_a_thread([long, short], 1)


def test_a_model_with_other_facts_prepares_as_the_one_that_it_wraps() -> None:
    model, message = PreparingModel(), Message("user", "x")
    wrapped: Any = override_info(model, context_window=1)
    wrapped.prepare_message(message)
    assert model.prepared == [message]
    plain: Any = override_info(FunctionModel(model._answer), context_window=1)
    plain.prepare_message(Message("user", "y"))
