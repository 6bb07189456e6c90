"""How the steps of a plan are run."""

import pytest

from sophon import Context, Decision, ModelRequest, Risk, ToolCall, tool
from sophon.errors import BadRequest, ChainError
from sophon.events import AgentStatus, ToolCallStarted
from sophon.messages import Response
from sophon_middlewares.outer.planning import plan_execution
from sophon_middlewares.outer.planning.plan_execution import result_from_response, step_run_name
from sophon_middlewares.outer.planning.synthesis import divide_window
from sophon_middlewares.outer.tool_filter.tool_filter import ToolFilter
from sophon_middlewares.tool_calls import tool_limits
from tests.tables import table


async def test_a_diamond_runs_its_sides_together_and_its_ends_alone(stage, plan):
    s = stage(plans=[plan(top="", left="top", right="top", bottom="left right")])
    await s.run()
    assert s.spans == {"do top": (0, 1), "do left": (1, 2), "do right": (1, 2), "do bottom": (2, 3)}
    assert s.steps()[-2:] == ["bottom running", "bottom completed"]


async def test_a_step_starts_as_soon_as_its_own_needs_are_met_and_waits_for_no_wave(stage, plan):
    async def slowly(request: ModelRequest) -> str:
        await s.clock.sleep(10)
        return "late"

    s = stage(plans=[plan(slow="", quick="", next="quick")], work={"do slow": [slowly]})
    await s.run()
    assert s.spans["do next"] == (1, 2)


async def test_no_more_steps_run_at_once_than_the_cap(stage, plan):
    s = stage(plans=[plan(a="", b="", c="", d="", e="", f="")])
    await s.run()
    assert [began for began, _ in s.spans.values()] == [0, 0, 0, 0, 1, 1]


async def test_the_cap_is_a_setting(stage, plan):
    s = stage(plans=[plan(a="", b="", c="")], settings={"Planning": {"Concurrency": 1}})
    await s.run()
    assert [began for began, _ in s.spans.values()] == [0, 1, 2]


async def test_a_step_reads_the_results_of_what_it_needs_and_of_nothing_else(stage, plan):
    s = stage(plans=[plan(a="", b="", c="a")])
    await s.run()
    prompt = next(text for text in s.prompts("step") if text.startswith("do c"))
    assert "do a done" in prompt
    assert "do b done" not in prompt


async def test_every_step_is_told_as_running_and_then_as_completed(stage, plan):
    s = stage(plans=[plan(a="", b="a")])
    await s.run()
    assert s.steps() == ["a running", "a completed", "b running", "b completed"]


async def test_a_failed_step_is_tried_again_and_told_of_the_error(stage, plan):
    s = stage(plans=[plan(a="", b="")], work={"do a": [BadRequest("the door is shut"), "through the window"]})
    await s.run()
    first, second = [prompt for prompt in s.prompts("step") if prompt.startswith("do a")]
    assert first == "do a"
    assert "the door is shut" in second
    assert "another way" in second
    assert s.steps("completed") == ["a", "b"]
    assert [e.detail for e in s.events.of(AgentStatus) if e.status == "retrying"] == ["step a: the door is shut"]


async def test_a_failure_skips_what_needs_it_directly_or_not_and_the_others_finish(stage, plan):
    s = stage(plans=[plan(a="", b="a", c="b", d="")], work={"do a": [BadRequest("the door is shut")]})
    response = await s.run()
    assert s.steps("failed") == ["a"]
    assert s.steps("skipped") == ["b", "c"]
    assert s.steps("completed") == ["d"]
    assert "the door is shut" in s.reason("a")
    assert "'a'" in s.reason("c")
    assert response.finish_reason == "stop"


async def test_each_try_has_a_run_id_of_its_own(stage, plan):
    @tool
    def note() -> str:
        return "noted"

    call = [ToolCall("1", "note")]
    s = stage(plans=[plan(a="", b="")], tools=[note], work={"do a": [call, BadRequest("shut"), call, "done"]})
    ctx = s.turn()
    await s.go(ctx)
    assert [event.run_id for event in s.events.of(ToolCallStarted)] == [f"{ctx.run_id}/a", f"{ctx.run_id}/a~2"]


@table(
    ("step", "tries", "name"),
    [("a", 1, "a"), ("a", 2, "a~2"), ("b", 2, "b~2~"), ("b~2", 1, "b~2"), ("b~2", 2, "b~2~2")],
)
def test_the_name_of_a_try_is_no_other_steps(step, tries, name):
    assert step_run_name(step, tries, ["a", "b", "b~2"]) == name


@table(
    ("finish_reason", "how"),
    [
        ("stop", "completed"),
        ("length", "completed"),
        ("suspended", "suspended"),
        ("rejected", "refused"),
        ("loop_detected", "failed"),
        ("max_iterations", "failed"),
        ("budget_exceeded", "failed"),
        ("tool_calls", "failed"),
        ("error", "failed"),
        ("cancelled", "failed"),
    ],
)
def test_how_a_step_ended_is_read_from_its_response(finish_reason, how):
    assert result_from_response(Response("why", finish_reason)).status == how


async def test_a_step_that_works_for_half_an_hour_sums_up_and_has_failed_while_others_go_on(stage, plan, monkeypatch):
    @tool
    async def look(n: int, ctx: Context) -> str:
        await ctx.services.clock.sleep(100)
        return f"page {n}"

    work = [*([ToolCall(f"c{n}", "look", {"n": n})] for n in range(18)), "what I have so far"]
    s = stage(
        plans=[plan(a="", b="a", c="")],
        tools=[look],
        work={"do a": work},
        settings={"Planning": {"Mode": "Always", "MaxDepth": 1}},
    )
    monkeypatch.setattr(plan_execution, "TRIES", 1)
    await s.run()
    assert (s.steps("failed"), s.steps("skipped"), s.steps("completed")) == (["a"], ["b"], ["c"])
    assert "what I have so far" in s.reason("a")


async def test_a_call_ends_with_the_time_of_its_step(stage, plan, monkeypatch):
    @tool(timeout_seconds=600)
    async def look(ctx: Context) -> str:
        await ctx.services.clock.sleep(500)
        return "never"

    s = stage(
        plans=[plan(a="", b="")],
        tools=[look],
        work={"do a": [[ToolCall("c", "look")], "it took too long"]},
        settings={"Planning": {"Mode": "Always", "MaxDepth": 1}},
    )
    monkeypatch.setattr(plan_execution, "TRIES", 1)
    monkeypatch.setattr(tool_limits, "STEP_SECONDS", 300.0)
    await s.run()
    assert s.steps("failed") == ["a"]
    assert s.clock.monotonic() < 400


async def test_the_steps_of_a_steps_own_plan_share_its_time(stage, plan):
    times: list[float | None] = []

    @tool
    async def look(ctx: Context) -> str:
        await ctx.services.clock.sleep(50)
        times.append(None if ctx.step is None else ctx.step.started_at)
        return "seen"

    inner = plan(x="", y="x")
    s = stage(
        plans=[plan(a="", b=""), inner],
        tools=[look],
        work={"do x": [[ToolCall("1", "look")], "x"], "do y": [[ToolCall("2", "look")], "y"]},
        settings={"Planning": {"Mode": "Always", "MaxDepth": 2, "Concurrency": 1}},
    )
    await s.run()
    assert len(times) >= 2
    assert times[0] == times[1]


async def test_a_call_that_was_denied_inside_a_step_is_for_the_model_to_handle(stage, plan, gate):
    @tool(risk=Risk.HIGH)
    def fire() -> str:
        raise AssertionError("never approved")

    s = stage(
        plans=[plan(a="", b="")],
        tools=[fire],
        gate=gate(Decision.reject("too hot")),
        work={"do a": [[ToolCall("1", "fire")], "then without fire"]},
    )
    await s.run()
    assert s.steps("completed") == ["a", "b"]
    assert "denied: too hot" in "\n".join(r.messages[-1].content for r in s.asked("step"))


async def test_a_hinted_tool_is_offered_to_the_step_although_nothing_else_speaks_for_it(stage, plan):
    @tool
    def yak() -> str:
        return "wool"

    @tool
    def zebra() -> str:
        return "stripes"

    s = stage(
        plans=[plan(a={"tool_hints": ["zebra"]}, b="")],
        tools=[yak, zebra],
        settings={"ToolFilter": {"Top": 3}, "Planning": {"Mode": "Always", "MaxDepth": 1}},
        before=[ToolFilter()],
    )
    await s.run("x")
    offered = {r.messages[-1].content: [t.name for t in r.tools] for r in s.asked("step")}
    assert "zebra" in offered["do a"]
    assert "zebra" not in offered["do b"]


async def test_what_the_turn_may_not_ask_its_steps_may_not_ask_either(stage, plan):
    async def look(ctx, next):
        excluded.append(dict(ctx.excluded_providers))
        ctx.excluded_providers["dear"] = "over its limit"
        await next(ctx)

    excluded = []
    s = stage(plans=[plan(a="", b="")], before=[look])
    await s.run()
    assert excluded == [{}, {"dear": "over its limit"}, {"dear": "over its limit"}]


async def test_steps_count_towards_the_usage_of_the_turn(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    response = await s.run()
    assert response.usage.total_tokens == 4 * 20


async def test_an_error_of_the_program_is_no_failed_step(stage, plan):
    async def broken(ctx, next):
        if ctx.depth:
            raise KeyError("a bug")
        await next(ctx)

    s = stage(plans=[plan(a="", b="")], before=[broken])
    with pytest.raises(KeyError, match="a bug"):
        await s.run()
    assert s.steps("cancelled") == ["a", "b"]


async def test_a_broken_chain_is_no_failed_step(stage, plan):
    async def silent(ctx, next):
        if not ctx.depth:
            await next(ctx)

    s = stage(plans=[plan(a="", b="")], before=[silent])
    with pytest.raises(ChainError, match="no response"):
        await s.run()


@table(
    ("window", "results", "characters"),
    [(128_000, 5, 8000), (32_000, 20, 2400), (32_000, 0, 8000), (1000, 20, 200)],
)
def test_many_results_share_half_the_window(window, results, characters):
    assert divide_window(window, results, 8000) == characters
