"""A turn whose tools answer with huge results never exceeds the window and never sends an invalid transcript."""

import random
from typing import Any

import pytest

from sophon import Message, ModelRequest, ModelResponse, Services, ToolCall, Usage, tool
from sophon.errors import MessageTooLarge, ModelError
from sophon.events import ContextCompacted, TaskFailed
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
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


async def test_many_parallel_results_together_do_not_exceed_the_window() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        assert characters(request) < WINDOW * 5
        if request.messages[-1].role == "tool":
            return "done"
        if request.purpose == "compaction":
            return "short"
        return ModelResponse(tool_calls=[ToolCall(f"c{i}", "big_words", {"n": i}) for i in range(40)])

    services = Services(models=FunctionModel(answer, context_window=WINDOW), tools=[big_words], clock=VirtualClock())
    assert (await twelve(services).run(services.turn("look"))).text == "done"


@pytest.mark.parametrize("how", ["error", "empty", "blank", "slow", "huge"])
async def test_without_a_summary_the_oldest_are_left_out_and_the_person_still_gets_an_answer(how: str) -> None:
    clock = VirtualClock()
    rounds: list[int] = []

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        assert characters(request) < WINDOW * 5
        if request.purpose == "compaction":
            if how == "error":
                raise ValueError("no summary today")
            if how == "slow":
                await clock.sleep(31)
                raise AssertionError("the thirty seconds were over")
            return {"empty": "", "blank": "  \n ", "huge": "word " * 100_000}[how]
        rounds.append(1)
        assert "look at" in str([m.content for m in request.messages if m.role == "user"])
        if len(rounds) > 10:
            return "done"
        return ModelResponse(tool_calls=[ToolCall(str(len(rounds)), "big_words", {"n": len(rounds)})])

    events = EventRecorder()
    services = Services(
        models=FunctionModel(answer, context_window=WINDOW), tools=[big_words], clock=clock, events=events
    )
    assert (await twelve(services).run(services.turn("look at everything"))).text == "done"
    if how not in ("huge",):
        assert {event.how for event in events.of(ContextCompacted)} == {"truncation"}


async def test_a_summary_stands_once_behind_the_system_prompt_and_is_stored_for_later_turns() -> None:
    seen: list[list[Message]] = []

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        if request.purpose == "compaction":
            return "SUMMARY: all was said"
        seen.append(list(request.messages))
        return "fine " * 100

    services = Services(
        models=FunctionModel(answer, context_window=4000), clock=VirtualClock(), instructions="Be brief."
    )
    pipeline = twelve(services)
    texts = [f"message {n} " + "word " * 300 for n in range(12)]
    for text in texts:
        await pipeline.run(services.turn(text, session_id="s"))
    compacted = [view for view in seen if any("SUMMARY" in m.content for m in view)]
    assert compacted
    for view in compacted:
        assert [m.role for m in view].count("system") == 1
        assert view[1].content == texts[0]  # the first message is pinned
        assert "SUMMARY" in view[2].content
        assert sum("SUMMARY" in m.content for m in view) == 1
    history = [m for m in await services.history("s") if m.role == "user"]
    assert [m.content for m in history] == texts


async def test_a_message_larger_than_the_window_is_a_clear_error_before_any_call() -> None:
    async def answer(request: ModelRequest) -> str:
        raise AssertionError(f"asked for {request.purpose}")

    events = EventRecorder()
    model = FunctionModel(answer, context_window=2000)
    services = Services(models=model, events=events)
    with pytest.raises(MessageTooLarge, match=r"too large.*accepts at most"):
        await twelve(services).run(services.turn("word " * 20_000, session_id="s", planning="Never"))
    assert model.requests == []
    assert [event.error["code"] for event in events.of(TaskFailed)] == ["message_too_large"]
    assert await services.store.usage.reserved() == 0


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


async def test_max_tokens_is_what_the_window_has_left() -> None:
    async def answer(request: ModelRequest) -> str:
        return "ok"

    model = FunctionModel(answer, context_window=3000)
    services = Services(models=model, settings={"ToolFilter": {"Top": 1}})
    await twelve(services).run(services.turn("word " * 1000))
    request = model.requests[-1]
    assert 1 <= request.max_tokens < 2500
    roomy = FunctionModel(answer)
    services = Services(models=roomy)
    await twelve(services).run(services.turn("hi"))
    assert roomy.requests[0].max_tokens == 4096


async def test_failover_to_a_smaller_window_fits_again() -> None:
    async def down(request: ModelRequest) -> str:
        raise ModelError("down", status=400) if len(request.messages) > 10 else AssertionError

    async def small(request: ModelRequest) -> str:
        assert_valid_transcript(request.messages)
        assert characters(request) < 4000 * 5
        return "summary" if request.purpose == "compaction" else "from the small one"

    class Down(Exception):
        status_code = 503

    async def large(request: ModelRequest) -> str:
        if request.purpose == "reply" and len(large_model.requests) > 8:
            raise Down
        return "fine " * 200

    assert down is not None
    large_model = FunctionModel(large, name="large", context_window=100_000)
    small_model = FunctionModel(small, name="small", context_window=4000)
    services = Services(models=[large_model, small_model], clock=VirtualClock())
    pipeline = twelve(services)
    for n in range(8):
        await pipeline.run(services.turn(f"{n} " + "word " * 500, session_id="s"))
    response = await pipeline.run(services.turn("and the last", session_id="s"))
    assert response.text == "from the small one"


async def test_what_stands_around_the_messages_is_counted_too() -> None:
    """Tool schemas alone can fill a small window; the rest then has less room, and never too little to answer."""

    def huge(number: int) -> Any:
        async def function(value: str) -> str:
            return value

        return tool(name=f"tool_{number}", description="describes itself at length " * 40)(function)

    async def answer(request: ModelRequest) -> str:
        assert characters(request) < 6000 * 5
        return "summary" if request.purpose == "compaction" else "ok " * 200

    services = Services(
        models=FunctionModel(answer, context_window=6000), tools=[huge(n) for n in range(8)], clock=VirtualClock()
    )
    pipeline = twelve(services)
    for n in range(12):
        await pipeline.run(services.turn(f"{n} " + "word " * 200, session_id="s"))


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
