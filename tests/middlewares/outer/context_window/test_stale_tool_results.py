"""Old tool results are summaries in the model's view, in steps, and nowhere else."""

from typing import Any

from sophon import Context, Message, ModelRequest, Pipeline, Services, ToolCall
from sophon.settings import Settings
from sophon.testing import FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains.published_constants import OPENPARALLAX
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.context_window.stale_tool_results import (
    count_stale_turns,
    count_turns,
    find_turn,
    replace_results,
)
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from sophon_middlewares.stages.chain_defaults import complete_settings
from tests.tables import table

LONG = "word " * 400


def rounds(turn: int, result: str = LONG) -> list[Message]:
    call = ToolCall(f"c{turn}", "look")
    return [
        Message("user", f"question {turn}"),
        Message("assistant", "", [call]),
        Message("tool", result, tool_call_id=call.id),
        Message("assistant", f"answer {turn}"),
    ]


def talk(turns: int) -> list[Message]:
    return [message for turn in range(1, turns + 1) for message in rounds(turn)]


@table(
    ("turns", "age", "step", "stale"),
    [
        *[(1, 4, None, 0), (7, 4, None, 0), (8, 4, None, 4), (11, 4, None, 4), (12, 4, None, 8)],
        *[(4, 4, 2, 0), (5, 4, 2, 1), (6, 4, 2, 1), (7, 4, 2, 3), (9, 4, 2, 5)],
        *[(2, 1, None, 1), (9, 1, None, 8), (9, 4, 1, 5), (0, 1, 1, 0), (5, 4, 4, 1), (9, 4, 4, 5)],
    ],
)
def test_turns_become_stale_together_when_the_newest_of_them_is_old_enough(
    turns: int, age: int, step: int | None, stale: int
) -> None:
    assert count_stale_turns(turns, age, step) == stale


@table("step", [None, 1, 2, 3, 4, 5])
def test_a_stale_turn_stays_stale_is_old_enough_and_never_the_present_one(step: int | None) -> None:
    for age in range(1, 6):
        counts = [count_stale_turns(turns, age, step) for turns in range(1, 60)]
        assert counts == sorted(counts)
        assert all(not stale or turns - stale >= age for turns, stale in enumerate(counts, 1))
        assert all(turns - stale < age + (step or age) for turns, stale in enumerate(counts, 1) if turns >= age)


def test_notes_begin_no_turn() -> None:
    messages = [*rounds(1), Message("user", "note", origin="hint"), *rounds(2)]
    assert count_turns(messages, 0, len(messages)) == 2
    assert (find_turn(messages, 0, 1), find_turn(messages, 0, 2)) == (5, len(messages))


def test_a_summary_is_made_once_and_a_short_result_stays() -> None:
    messages = [*rounds(1), *rounds(2, "short")]
    first, second = replace_results(messages, 8), replace_results(messages, 8)
    assert first[2].content.startswith("[Summary: look returned 2000 bytes (1 line) of text")
    assert first[2] is second[2]
    assert first[6] is messages[6]
    assert_valid_transcript([*first])


async def ask(services: Services, number: int, pipeline: Pipeline) -> Context:
    ctx = services.turn(f"question {number}", session_id="s")
    ctx.tools = ()
    await pipeline.run(ctx)
    return ctx


def shown(request: ModelRequest) -> list[bool]:
    """For each tool result of a request, whether it is the summary."""
    return [message.content.startswith("[Summary:") for message in request.messages if message.role == "tool"]


async def run_turns(turns: int, settings: Any = None) -> tuple[FunctionModel, Services]:
    """Turns of a stored session, each with one tool call and its result."""

    async def look(request: ModelRequest) -> str:
        return "done"

    model = FunctionModel(look)
    services = Services(models=[model], clock=VirtualClock(), settings=settings or {})

    async def add_call(ctx: Context, next: Any) -> None:
        _, *seen = rounds(len([each for each in ctx.messages if each.role == "user"]))
        ctx.messages += seen[:2]
        await next(ctx)

    pipeline = Pipeline.compose(SessionEvents(), ContextWindow(), add_call, LlmInvoker())
    for number in range(1, turns + 1):
        await ask(services, number, pipeline)
    return model, services


async def test_the_view_of_a_session_is_shortened_in_steps_and_the_store_keeps_the_results() -> None:
    model, services = await run_turns(9)
    summaries = [sum(shown(request)) for request in model.requests]
    assert summaries == [0, 0, 0, 0, 0, 0, 0, 4, 4]
    assert [len(shown(request)) for request in model.requests] == list(range(1, 10))
    stored = (await services.store.sessions.load_history("s")).messages
    assert [each.content for each in stored if each.role == "tool"] == [LONG] * 9
    # the beginning of a request is that of the one before it, except where a step was made
    for one, other in zip(model.requests, model.requests[1:], strict=False):
        same = one.messages == other.messages[: len(one.messages)]
        assert same == (sum(shown(one)) == sum(shown(other)))


async def test_in_openparallax_results_are_summaries_after_four_turns() -> None:
    model, _ = await run_turns(12, complete_settings(Settings(), OPENPARALLAX))
    changes = 0
    for turn, request in enumerate(model.requests, 1):
        ages = dict(zip(range(turn - 1, -1, -1), shown(request), strict=True))
        assert all(is_summary for age, is_summary in ages.items() if age > 4)
        assert not any(is_summary for age, is_summary in ages.items() if age < 4)
        before = model.requests[turn - 2].messages if turn > 1 else []
        changes += request.messages[: len(before)] != before
    assert changes == 4  # in eight turns with stale results: in every second one


async def test_the_size_of_a_request_is_that_of_what_is_shown() -> None:
    model, services = await run_turns(9)
    tokens = services.gateway.tokens
    for request in model.requests:
        assert request.input_tokens == sum(map(tokens.count_message, request.messages))


async def test_a_long_history_of_an_earlier_process_is_summarised_in_steps() -> None:
    async def look(request: ModelRequest) -> str:
        return "done"

    model = FunctionModel(look)
    services = Services(models=[model], clock=VirtualClock())
    ctx = services.turn("now?")
    ctx.tools = ()
    ctx.messages[:0] = talk(101)
    await Pipeline.compose(ContextWindow(), LlmInvoker()).run(ctx)
    (request,) = model.requests
    assert shown(request) == [True] * 96 + [False] * 5
    assert {each.content.split()[1] for each in request.messages if each.content.startswith("[Summary:")} == {"look"}


async def test_without_the_setting_results_stay() -> None:
    model, _ = await run_turns(9, {"ContextWindow": {"StaleResultTurns": None}})
    assert not any(any(shown(request)) for request in model.requests)
