"""A turn whose tools answer with huge results never exceeds the window and never sends an invalid transcript."""

import random
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, Usage, tool
from sophon.errors import MessageTooLarge
from sophon.testing import FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve

WINDOW = 8000
TEN_MEGABYTES = 10_000_000
LARGE = TEN_MEGABYTES // 20
"""Of the other results: still fifteen times the window."""
ONCE = (1, 10)
"""The number that each turn below gives one of its first calls."""
LONG_LIST = [{"id": i, "name": f"name {i}"} for i in range(20_000)]


class Overflow(Exception):
    status_code = 400

    def __init__(self) -> None:
        super().__init__("This model's maximum context length is 8000 tokens: context_length_exceeded")


def characters(request: ModelRequest) -> int:
    total = sum(len(m.content) + sum(len(str(dict(c.arguments))) + len(c.name) for c in m.tool_calls)
                for m in request.messages)  # fmt: skip
    return total + sum(len(str(dict(each.definition))) for each in request.tools)


def size(n: int) -> int:
    """Return the length of the result of call `n`."""
    return TEN_MEGABYTES if n in ONCE else LARGE


@tool
def big_words(n: int) -> str:
    """Many words."""
    return "lorem ipsum dolor sit amet " * (size(n) // 27)


@tool
def big_list(n: int) -> list[dict[str, Any]]:
    """A long list."""
    return LONG_LIST


@tool
def one_word(n: int) -> str:
    """No blank anywhere."""
    return "x" * size(n)


@tool
def other_script(n: int) -> str:
    """Characters that cost more than one token each."""
    return "统计数据与分析" * (size(n) // 30)


@pytest.mark.parametrize("name", ["big_words", "big_list", "one_word", "other_script"])
async def test_ten_megabytes_and_thirty_rounds_of_large_results_stay_in_the_window(name: str) -> None:
    rounds: list[int] = []

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        if request.purpose == "compaction":
            assert characters(request) < WINDOW * 5
            return "they looked at many things"
        rounds.append(len(request.messages))
        count = services.gateway.tokens
        used = sum(count.count_message(m) for m in request.messages)
        assert used + request.max_tokens <= WINDOW, (used, request.max_tokens)
        assert request.max_tokens >= 1
        assert request.messages[0].role == "system"
        assert any(m.role == "user" and "look" in m.content for m in request.messages)
        if name != "other_script":
            assert characters(request) < WINDOW * 5
        if len(rounds) > 30:
            return "done"
        calls = [ToolCall(f"{len(rounds)}-{i}", name, {"n": len(rounds) * 10 + i}) for i in range(len(rounds) % 3 + 1)]
        return ModelResponse(tool_calls=calls)

    model = FunctionModel(answer, context_window=WINDOW)
    services = Services(
        models=model, tools=[big_words, big_list, one_word, other_script], clock=VirtualClock(),
        instructions="You are helpful.",
    )  # fmt: skip
    response = await twelve(services).run(services.turn("look at everything", session_id="s"))
    assert response.text == "done"
    assert len(rounds) == 31
    history = await services.history("s")
    assert_valid_transcript(history)
    assert all(len(m.content) <= 8000 + 500 for m in history)


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
async def test_an_estimate_that_is_wrong_is_put_right_by_reported_usage_and_by_overflow(ratio: float) -> None:
    """The provider counts its own way, refuses what is beyond its window, and reports what it counted."""
    calls: list[int] = []

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        size = int(characters(request) / 4 * ratio)
        if size + (request.max_tokens if ratio <= 1 else 1) > WINDOW:
            raise Overflow
        usage = Usage(input_tokens=size, output_tokens=5)
        if request.purpose == "compaction":
            return ModelResponse("a summary", usage=usage)
        calls.append(size)
        if len(calls) > 12:
            return ModelResponse("done", usage=usage)
        return ModelResponse(tool_calls=[ToolCall(str(len(calls)), "big_words", {"n": len(calls)})], usage=usage)

    services = Services(models=FunctionModel(answer, context_window=WINDOW), tools=[big_words], clock=VirtualClock())
    response = await twelve(services).run(services.turn("look at everything"))
    assert response.text == "done"
    assert max(calls) <= WINDOW


@pytest.mark.parametrize("planning", ["Auto", "LlmDecides", "Always"])
async def test_a_message_larger_than_the_window_is_a_clear_error_in_every_planning_mode(planning: str) -> None:
    async def answer(request: ModelRequest) -> str:
        assert characters(request) < 2000 * 5
        return "yes"

    services = Services(models=FunctionModel(answer, context_window=2000))
    with pytest.raises(MessageTooLarge):
        await twelve(services).run(services.turn("first search, then write, step by step " * 3000, planning=planning))


async def test_a_session_that_met_a_too_large_message_goes_on() -> None:
    async def answer(request: ModelRequest) -> str:
        assert_valid_transcript(request.messages)
        assert characters(request) < 4000 * 5
        return "a summary" if request.purpose == "compaction" else "still here"

    services = Services(models=FunctionModel(answer, context_window=4000), clock=VirtualClock())
    pipeline = twelve(services)
    await pipeline.run(services.turn("hello", session_id="s"))
    with pytest.raises(MessageTooLarge):
        await pipeline.run(services.turn("word " * 20_000, session_id="s"))
    assert (await pipeline.run(services.turn("and now?", session_id="s"))).text == "still here"


async def test_random_sizes_never_break_the_window_or_the_transcript() -> None:
    chance = random.Random(7)

    @tool
    def some(n: int) -> str:
        """Some text."""
        return chance.choice(["", "x", "word " * chance.randrange(1, 4000), "y" * chance.randrange(1, 30_000)])

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        assert characters(request) < 4000 * 5
        if request.purpose == "compaction":
            return chance.choice(["", "short", "long " * chance.randrange(1, 3000)])
        if chance.random() < 0.15:
            return "text " * chance.randrange(1, 300)
        return ModelResponse(
            "thinking " * chance.randrange(0, 50),
            tool_calls=[
                ToolCall("same", "some", {"n": chance.randrange(10**9)}) for _ in range(chance.randrange(1, 5))
            ],
        )

    services = Services(models=FunctionModel(answer, context_window=4000), tools=[some], clock=VirtualClock())
    pipeline = twelve(services)
    for n in range(25):
        await pipeline.run(services.turn(f"question {n} " + "word " * chance.randrange(1, 400), session_id="s"))
        assert_valid_transcript(await services.history("s"))
