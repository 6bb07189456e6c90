"""Recovery after a request was rejected as too large."""

from typing import Any

from sophon import Message, ModelRequest, Pipeline, Services, ToolCall
from sophon.errors import ContextOverflow
from sophon.events import ContextCompacted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.context_window.request_fitting import next_recovery_step, shrink_results
from tests.tables import table


def test_behind_a_compaction_nothing_is_left_to_try() -> None:
    assert [next_recovery_step("compact", shrinking_suffices=each) for each in (True, False)] == ["give_up"] * 2


def test_only_large_results_are_cut() -> None:
    messages = [Message("user", "x" * 3000), Message("tool", "y" * 2000, tool_call_id="a"), Message("tool", "z" * 2001)]
    shrunk = shrink_results(messages)
    assert shrunk[:2] == messages[:2]
    assert len(shrunk[2].content) <= 500


def conversation(results: int) -> list[Message]:
    history: list[Message] = []
    for number in range(results):
        call = ToolCall(f"c{number}", "look")
        history += [
            Message("user", f"question {number} " + "abc " * 50),
            Message("assistant", "", [call]),
            Message("tool", "word " * 1000, tool_call_id=call.id),
            Message("assistant", "abc " * 50),
        ]
    return history


async def run(accepted: int, results: int = 3) -> tuple[FunctionModel, EventRecorder, Any]:
    """A turn with a provider that accepts fewer tokens than its window says."""
    recorder = EventRecorder()

    async def answer(request: ModelRequest) -> str:
        if request.purpose == "compaction":
            return "they talked"
        if services.gateway.tokens.count_request(request) > accepted:
            raise ContextOverflow("too long")
        return "done"

    model = FunctionModel(answer, context_window=100_000)
    services = Services(models=[model], clock=VirtualClock(), events=recorder)
    ctx = services.turn("and now?")
    ctx.tools = ()
    ctx.messages[:0] = conversation(results)
    error = None
    try:
        await Pipeline.compose(ContextWindow(), LlmInvoker()).run(ctx)
    except ContextOverflow as overflow:
        error = overflow
    for request in model.requests:
        assert request.purpose == "compaction" or request.messages[-1].content == "and now?"
    assert ctx.messages[:-1][: len(conversation(results))] == conversation(results)
    return model, recorder, error


@table(
    ("accepted", "requests", "steps", "fails"),
    [
        (10_000, 1, [], False),
        (1500, 2, ["results"], False),
        (600, 3, ["results", "summary"], False),
        (0, 3, ["results", "summary"], True),
    ],
)
async def test_each_step_is_tried_once_and_is_seen(accepted: int, requests: int, steps: list[str], fails: bool) -> None:
    model, recorder, error = await run(accepted)
    assert len([each for each in model.requests if each.purpose == "reply"]) == requests
    assert [event.how for event in recorder.of(ContextCompacted)][:2] == steps
    assert (error is not None) == fails
