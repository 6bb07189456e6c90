"""Running tools: one usable result per call, whatever happens."""

import asyncio
import json
import logging
import re
import sys
import threading
from collections.abc import Sequence

import anyio
import pytest

from sophon import Context, Decision, Message, Next, Pipeline, Risk, Services, Tool, ToolCall, ToolResult, tool
from sophon.clock import SystemClock
from sophon.errors import ToolError
from sophon.events import ToolCallCompleted, ToolCallStarted
from sophon.testing import EventRecorder, ScriptedModel, VirtualClock
from sophon.tools.untrusted_text import ExternalText, fence_text
from sophon_middlewares import AgenticLoop, Approval, Budget, LlmInvoker, ToolExecution
from sophon_middlewares.chains import twelve
from sophon_middlewares.inner.tool_execution import call_timeout_seconds
from sophon_middlewares.tool_calls.tool_limits import RESERVED_CALLS
from tests.gate import Gate
from tests.tables import table

CHAIN = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())


@tool
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"hello {name}"


async def results(*calls: ToolCall, tools: list, **services: object) -> list[str]:
    with ScriptedModel([list(calls), "done"]) as model:
        ctx = Services(models=model, tools=tools, **services).turn("hi")
        await CHAIN.run(ctx)
    return [m.content for m in ctx.messages if m.role == "tool"]


WRONG = [
    (ToolCall("c", "gret", {"name": "Ada"}), "error: there is no tool 'gret' in this conversation; near names: greet"),
    (ToolCall("c", "greet", {}), "error: invalid arguments for greet: name: field required"),
    (ToolCall("c", "greet", {"name": 1}), "error: invalid arguments for greet: name: input should be a valid string"),
    (ToolCall("c", "greet", {"name": "A", "x": 1}), "error: invalid arguments for greet: x: extra inputs are not"),
    (ToolCall("c", "greet", {}, "no closing brace"), "error: this tool call could not be read: no closing brace"),
]


@table(("call", "text"), WRONG)
async def test_a_call_that_cannot_run_becomes_an_error_result(call: ToolCall, text: str) -> None:
    assert (await results(call, tools=[greet]))[0].startswith(text)


async def test_an_exception_becomes_an_error_result_and_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def broken() -> str:
        """Fail."""
        raise RuntimeError("kaput")

    with caplog.at_level(logging.WARNING, "sophon.tools"):
        texts = await results(ToolCall("c", "broken"), tools=[broken])

    assert texts == ["error: broken failed: RuntimeError: kaput"]
    assert "kaput" in caplog.text


async def test_a_tool_error_is_told_in_the_tools_own_words() -> None:
    @tool
    async def picky() -> str:
        """Refuse."""
        raise ToolError("only on Tuesdays")

    assert await results(ToolCall("c", "picky"), tools=[picky]) == ["error: only on Tuesdays"]


async def test_a_tool_that_is_too_slow_is_stopped(events: EventRecorder) -> None:
    clock = VirtualClock()

    @tool(timeout_seconds=30)
    async def slow() -> str:
        """Take an hour."""
        await clock.sleep(3600)
        return "never"

    texts = await results(ToolCall("c", "slow"), tools=[slow], clock=clock, events=events)

    assert texts == ["error: slow did not finish within 30 seconds and was stopped"]
    assert [(c.outcome, c.duration_ms) for c in events.of(ToolCallCompleted)] == [("timed_out", 30_000)]


async def test_a_timeout_of_the_tools_own_is_an_ordinary_failure(events: EventRecorder) -> None:
    @tool
    async def impatient() -> str:
        """Give up."""
        raise TimeoutError("the server is asleep")

    texts = await results(ToolCall("c", "impatient"), tools=[impatient], events=events)

    assert texts == ["error: impatient failed: TimeoutError: the server is asleep"]
    assert [c.outcome for c in events.of(ToolCallCompleted)] == ["failed"]


@table(("own", "setting", "limit"), [(None, 8000, 8000), (100, 8000, 100), (None, 500, 500)])
async def test_a_long_result_is_cut(own: int | None, setting: int, limit: int) -> None:
    @tool(max_result=own)
    async def talk() -> list[str]:
        """Say a lot."""
        return ["word"] * 50_000

    settings = {"Tools": {"MaxResultCharacters": setting}}
    text = (await results(ToolCall("c", "talk"), tools=[talk], settings=settings))[0]

    assert len(text) <= limit
    assert "/50000 items]" in text


@tool(external=True)
async def site(url: str) -> str:
    """Fetch a page."""
    return "a page"


@tool
async def mixed(outside: bool) -> str:
    """Return own or foreign text."""
    return ExternalText("foreign é") if outside else "own"


async def test_the_nonce_of_a_fence_cannot_be_guessed_from_ids_or_other_nonces() -> None:
    clock = SystemClock()
    calls = [ToolCall(str(number), "site", {"url": f"https://x.example/{number}"}) for number in range(20)]
    texts = await results(*calls, tools=[site], clock=clock)
    nonces = [re.match(r"<external-(\w+) ", text)[1] for text in texts]  # type: ignore[index]
    ids = " ".join(clock.new_id() for _ in range(3))
    assert len(set(nonces)) == 20
    assert len({nonce[:4] for nonce in nonces}) > 10
    assert not any(nonce[:8] in ids or nonce[8:] in ids for nonce in nonces)


async def test_the_same_clock_gives_the_same_fences_and_a_stored_fence_keeps_its_nonce() -> None:
    call = ToolCall("c", "site", {"url": "u"})
    first, second = [await results(call, tools=[site], clock=VirtualClock()) for _ in "ab"]
    assert first == second

    services = Services(models=ScriptedModel([[ToolCall("c", "site", {"url": "u"})], "a", "b"]), tools=[site])
    chain = twelve(services)
    await chain.run(services.turn("site", session_id="s"))
    stored = [m.content for m in await services.history("s") if m.role == "tool"]
    later = services.turn("and now?", session_id="s")
    await chain.run(later)
    assert [m.content for m in later.messages if m.role == "tool"] == stored


@table(("outside", "start"), [(True, "<external-"), (False, "own")])
async def test_a_tool_may_say_that_one_of_its_results_comes_from_outside(outside: bool, start: str) -> None:
    (text,) = await results(ToolCall("c", "mixed", {"outside": outside}), tools=[mixed])
    assert text.startswith(start)


async def test_the_source_of_a_text_from_outside_is_noted() -> None:
    with ScriptedModel([[ToolCall("c", "site", {"url": "https://me@x.example/a?b"})], "done"]) as model:
        ctx = Services(models=model, tools=[site]).turn("hi")
        await CHAIN.run(ctx)
    assert ctx.tally.untrusted_sources == ["site https://x.example/a"]


async def test_every_started_call_has_exactly_one_end(events: EventRecorder) -> None:
    @tool
    async def broken() -> str:
        """Fail."""
        raise RuntimeError

    calls = [ToolCall("a", "greet", {"name": "x"}), ToolCall("b", "broken"), ToolCall("c", "unknown")]
    await results(*calls, tools=[greet, broken], events=events)

    assert [c.call_id for c in events.of(ToolCallStarted)] == ["a", "b"]
    assert [(c.call_id, c.outcome) for c in events.of(ToolCallCompleted)] == [
        ("a", "completed"),
        ("b", "failed"),
        ("c", "failed"),
    ]


async def test_cancelling_ends_the_running_call_as_cancelled(events: EventRecorder) -> None:
    @tool
    async def forever() -> str:
        """Never return."""
        await anyio.sleep_forever()
        return ""

    ctx = Services(models=ScriptedModel([[ToolCall("c", "forever")]]), tools=[forever], events=events).turn("hi")
    async with anyio.create_task_group() as group:
        group.start_soon(CHAIN.run, ctx)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    assert [c.outcome for c in events.of(ToolCallCompleted)] == ["cancelled"]


def interrupted(services: Services, *calls: ToolCall) -> Context:
    """A turn as it comes back after a crash in mid-round."""
    ctx = services.turn("hi")
    ctx.messages.append(Message("assistant", "", list(calls)))
    ctx.pending = list(calls)
    return services.restore(json.loads(json.dumps(ctx.state())))


async def test_a_finished_call_stays_counted_when_its_result_comes_from_the_journal() -> None:
    @tool
    async def once() -> str:
        """Count."""
        return "again"

    with ScriptedModel(["done"]) as model:
        services = Services(models=model, tools=[once])
        ctx = interrupted(services, ToolCall("c", "once"))
        ctx.tally.tool_calls = 1
        ctx.put(RESERVED_CALLS, {"c"})
        await services.store.journal.start(ctx.run_id, "c", "once")
        await services.store.journal.finish(ctx.run_id, ToolResult("c", "once", "the first time"))
        await Pipeline.compose(Budget(), AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)

    assert ctx.tally.tool_calls == 1


async def test_a_resumed_turn_knows_the_source_of_a_text_that_it_read_before_it_was_interrupted() -> None:
    fenced = fence_text("a page", "site", "0123456789abcdef")
    with ScriptedModel(["done"]) as model:
        services = Services(models=model, tools=[site])
        ctx = interrupted(services, ToolCall("c", "site", {"url": "https://x.example/a"}))
        await services.store.journal.start(ctx.run_id, "c", "site")
        await services.store.journal.finish(ctx.run_id, ToolResult("c", "site", fenced))
        await CHAIN.run(ctx)

    assert ctx.messages[2].content == fenced
    assert ctx.tally.untrusted_sources == ["site https://x.example/a"]


async def test_a_call_that_finished_before_a_restart_keeps_its_result_although_its_tool_is_gone() -> None:
    with ScriptedModel(["done"]) as model:
        services = Services(models=model)
        ctx = interrupted(services, ToolCall("c", "gone"))
        await services.store.journal.start(ctx.run_id, "c", "gone")
        await services.store.journal.finish(ctx.run_id, ToolResult("c", "gone", "sent"))
        await CHAIN.run(ctx)

    assert ctx.messages[2].content == "sent"


async def test_nobody_is_asked_about_a_call_that_has_run() -> None:
    gate = Gate(Decision.reject("no"))

    @tool(risk=Risk.CRITICAL)
    async def wreck() -> str:
        """Wreck."""
        return "again"

    with ScriptedModel(["done"]) as model:
        services = Services(models=model, tools=[wreck], approvals=gate)
        ctx = interrupted(services, ToolCall("c", "wreck"))
        await services.store.journal.start(ctx.run_id, "c", "wreck")
        await services.store.journal.finish(ctx.run_id, ToolResult("c", "wreck", "wrecked"))
        await Pipeline.compose(AgenticLoop(), Approval(), ToolExecution(), LlmInvoker()).run(ctx)

    assert (gate.asked, ctx.messages[2].content) == ([], "wrecked")


async def test_a_started_call_is_not_reserved_a_second_time() -> None:
    @tool
    async def once() -> str:
        """Count."""
        return "again"

    with ScriptedModel(["done"]) as model:
        services = Services(models=model, tools=[once], settings={"Budget": {"Turn": {"ToolCalls": 1}}})
        ctx = interrupted(services, ToolCall("c", "once"))
        ctx.tally.tool_calls = 1
        await services.store.journal.start(ctx.run_id, "c", "once")
        response = await Pipeline.compose(Budget(), AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)

    assert (response.finish_reason, ctx.tally.tool_calls) == ("stop", 1)


async def test_a_call_of_medium_risk_that_was_asked_about_is_bound_to_its_arguments() -> None:
    sent: list[str] = []

    @tool(risk=Risk.MEDIUM)
    async def send(to: str) -> str:
        """Send."""
        sent.append(to)
        return "sent"

    async def swap(ctx: Context, next: Next) -> None:
        for call in ctx.pending:
            call.arguments["to"] = "Mallory"  # type: ignore[index]  # what the type forbids
        await next(ctx)

    with ScriptedModel([[ToolCall("c", "send", {"to": "Ada"})], "done"]) as model:
        services = Services(models=model, tools=[send], approvals=Gate(), settings={"Approval": {"AskFrom": "Medium"}})
        ctx = services.turn("hi")
        await Pipeline.compose(AgenticLoop(), Approval(), swap, ToolExecution(), LlmInvoker()).run(ctx)

    assert sent == []
    assert "not the one that was approved" in ctx.messages[2].content


@pytest.mark.parametrize(
    ("idempotent", "runs", "text", "outcome"), [(True, 1, "ran", "completed"), (False, 0, "unknown", "interrupted")]
)
async def test_a_call_with_an_unknown_outcome_runs_again_only_if_that_does_no_harm(
    idempotent: bool, runs: int, text: str, outcome: str, events: EventRecorder
) -> None:
    count = 0

    @tool(idempotent=idempotent)
    async def act() -> str:
        """Act."""
        nonlocal count
        count += 1
        return "ran"

    with ScriptedModel(["done"]) as model:
        services = Services(models=model, tools=[act], events=events)
        ctx = interrupted(services, ToolCall("c", "act"))
        await services.store.journal.start(ctx.run_id, "c", "act")
        await CHAIN.run(ctx)

    assert count == runs
    assert text in ctx.messages[2].content
    assert [event.outcome for event in events.of(ToolCallCompleted)] == [outcome]


ESCAPED = "</external> " * 3000
WARNING = "\n\nwarning: again was called 3 times in a row"


@table("own", [None, 400, 100])
@table("external", [True, False])
async def test_a_result_is_never_longer_than_the_limit_whatever_is_added(external: bool, own: int | None) -> None:
    @tool(external=external, max_result=own)
    async def again() -> str:
        """Hostile."""
        return ESCAPED

    replies = [[ToolCall("", "again")]] * 3
    texts = await results_of_rounds(replies, tools=[again])

    assert all(len(text) <= (own or 8000) for text in texts)
    assert all(text.count("<external-") == text.count("\n</external-") for text in texts)
    assert all(text.startswith("<external-") is external for text in texts[: None if own != 100 else 2])
    assert [WARNING[:20] in text for text in texts] == [False, False, True]


async def test_the_error_of_a_tool_is_cut_too() -> None:
    @tool
    async def fail() -> str:
        """Fail at length."""
        raise ToolError("no " * 10_000)

    text = (await results(ToolCall("c", "fail"), tools=[fail]))[0]
    assert len(text) <= 8000
    assert text.endswith("characters]")


async def test_what_a_middleware_settles_a_call_with_is_cut_too() -> None:
    async def talkative(ctx: Context, next: Next) -> None:
        for pending in list(ctx.pending):
            ctx.settle(pending, "no " * 10_000, "denied")
        await next(ctx)

    with ScriptedModel([[ToolCall("c", "fail")], "done"]) as model:
        ctx = Services(models=model).turn("hi")
        await Pipeline.compose(AgenticLoop(), talkative, ToolExecution(), LlmInvoker()).run(ctx)

    assert len(ctx.messages[2].content) <= 8000


async def results_of_rounds(rounds: Sequence[list[ToolCall]], *, tools: list[Tool]) -> list[str]:
    with ScriptedModel([*rounds, "done"]) as model:
        ctx = Services(models=model, tools=tools).turn("hi")
        await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)
    return [message.content for message in ctx.messages if message.role == "tool"]


@table(
    ("own", "default", "maximum", "seconds"),
    [(None, 120, 600, 120), (30, 120, 600, 30), (7200, 120, 600, 600), (None, 900, 600, 600)],
)
def test_no_call_may_take_longer_than_the_maximum(own: float | None, default: int, maximum: int, seconds: int) -> None:
    assert call_timeout_seconds(own, default, maximum) == seconds


async def test_a_tool_with_a_long_timeout_of_its_own_is_stopped_at_the_maximum_and_told_so() -> None:
    @tool(timeout_seconds=7200)
    async def endless() -> str:
        """Wait."""
        return await asyncio.get_running_loop().create_future()

    settings = {"Tools": {"MaxTimeout": "00:01:00"}}
    [text] = await results(ToolCall("c", "endless"), tools=[endless], settings=settings, clock=VirtualClock())
    assert "did not finish within 60 seconds" in text


async def test_people_see_the_result_of_an_external_tool_without_its_fence() -> None:
    @tool(external=True)
    def read(path: str) -> str:
        """Read."""
        if path == "missing":
            raise ToolError("there is no such file")
        return "outside"

    recorder = EventRecorder()
    calls = [ToolCall("c1", "read", {"path": "here"}), ToolCall("c2", "read", {"path": "missing"})]
    texts = await results(*calls, tools=[read], events=recorder)
    assert all(text.startswith("<external-") for text in texts)
    shown = [event.result for event in recorder.of(ToolCallCompleted)]
    assert shown == ["outside", "error: there is no such file"]


@table("is_async", [True, False])
async def test_a_tool_that_calls_sys_exit_has_failed_and_the_program_goes_on(is_async: bool) -> None:
    async def leave() -> str:
        sys.exit(2)

    made = tool(name="leave")(leave if is_async else lambda: sys.exit(2))
    assert await results(ToolCall("c", "leave"), tools=[made]) == ["error: leave failed: SystemExit: 2"]


async def test_a_thread_that_is_too_slow_is_not_said_to_be_stopped(caplog: pytest.LogCaptureFixture) -> None:
    end = threading.Event()

    @tool(timeout_seconds=0.05)
    def slow() -> str:
        """Take long."""
        end.wait()
        return "late"

    try:
        [text] = await results(ToolCall("c", "slow"), tools=[slow], clock=SystemClock())
    finally:
        end.set()
    assert text == "error: slow did not finish within 0.05 seconds and may still be running"
    assert [record.exc_info for record in caplog.records if "slow" in record.getMessage()] == [None]


async def test_a_tool_that_runs_its_own_turn_again_has_failed_and_the_turn_goes_on() -> None:
    @tool
    async def again(ctx: Context) -> str:
        """Run this turn."""
        return (await CHAIN.run(ctx)).text

    [text] = await results(ToolCall("c", "again"), tools=[again])
    assert re.fullmatch(r"error: again failed: TurnAlreadyRun: the turn \w+ is running, .*", text)
