"""Design 4.7: plans, as an outsider would try them."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from sophon import Decision, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.errors import ModelError
from sophon.events import AgentStatus, PlanProposed, PlanStepChanged, ToolCallStarted
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve

MULTI = "First search for cats, then write down what you found and finally send a summary to Ada."


def step(name: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "description": f"do {name}", "depends_on": list(needs), **more}


def plan(*steps: dict[str, Any]) -> str:
    return json.dumps({"goal": "the goal", "steps": list(steps)})


class Stage:
    def __init__(self, *plans: str, do: Callable[[str, ModelRequest], Any] | None = None, **more: Any) -> None:
        self.plans = list(plans)
        self.do = do
        self.events = EventRecorder()
        self.hear: Callable[[ModelRequest], Any] = self.answer
        self.model = FunctionModel(lambda request: self.hear(request))
        more.setdefault("clock", VirtualClock())
        self.services = Services(models=self.model, events=self.events, **more)

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        if request.purpose == "plan":
            return self.plans.pop(0) if len(self.plans) > 1 else self.plans[0]
        if request.purpose == "step":
            text = next(m.content for m in request.messages if m.role == "user")
            name = text.splitlines()[0].removeprefix("do ")
            if self.do is not None:
                made = self.do(name, request)
                return await made if asyncio.iscoroutine(made) else made
            return f"{name} done"
        return "the answer"

    async def run(self, text: str = "go", planning: str | None = "Always", **more: Any):
        return await twelve(self.services).run(self.services.turn(text, session_id="s", planning=planning, **more))

    def purposes(self) -> Counter[str]:
        return Counter(request.purpose for request in self.model.requests)

    def changes(self) -> list[str]:
        return [f"{each.step_id} {each.status}" for each in self.events.of(PlanStepChanged)]

    def prompt(self, name: str) -> str:
        found = [
            r for r in self.model.requests if r.purpose == "step" and any(f"do {name}" in m.content for m in r.messages)
        ]
        return "\n".join(m.content for m in found[-1].messages)


async def test_a_request_of_several_steps_becomes_a_plan_by_itself() -> None:
    stage = Stage(plan(step("a"), step("b", "a")))
    assert (await stage.run(MULTI, planning=None)).text == "the answer"
    assert stage.purposes() == {"plan": 1, "step": 2, "reply": 1}
    assert stage.changes() == ["a running", "a completed", "b running", "b completed"]
    assert len(stage.events.of(PlanProposed)) == 1
    assert "a done" in stage.prompt("b")


async def test_a_simple_request_does_not() -> None:
    stage = Stage(plan(step("a"), step("b")))
    await stage.run("What time is it?", planning=None)
    assert stage.purposes() == {"reply": 1}


@pytest.mark.parametrize("spelling", ["Never", "never", "NEVER"])
async def test_never_is_never(spelling: str) -> None:
    stage = Stage(plan(step("a"), step("b")))
    await stage.run(MULTI, planning=spelling)
    assert stage.purposes() == {"reply": 1}


@pytest.mark.parametrize(
    ("vote", "planned"), [("yes", True), ("Yes.", True), ("no", False), ("NO", False), ("", False)]
)
async def test_the_model_decides(vote: str, planned: bool) -> None:
    stage = Stage(plan(step("a"), step("b")))
    original = stage.answer

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "vote":
            assert request.max_tokens == 3
            assert request.temperature == 0
            return vote
        return await original(request)

    stage.hear = answer
    await stage.run("hello", planning="LlmDecides")
    assert ("plan" in stage.purposes()) is planned


async def test_steps_run_as_soon_as_their_dependencies_are_done_and_not_in_waves() -> None:
    clock = VirtualClock()

    async def do(name: str) -> str:
        await clock.sleep({"slow": 100, "fast": 1, "after": 1}[name])
        return f"{name} done"

    stage = Stage(plan(step("slow"), step("fast"), step("after", "fast")), do=lambda name, _: do(name), clock=clock)
    await stage.run()
    assert stage.changes() == [
        "slow running", "fast running", "fast completed", "after running", "after completed", "slow completed",
    ]  # fmt: skip


async def test_a_failed_step_is_tried_twice_and_skips_its_dependants_while_others_finish() -> None:
    def do(name: str, request: ModelRequest) -> str:
        if name == "bad":
            raise ModelError("the tower is closed")
        return f"{name} done"

    stage = Stage(plan(step("bad"), step("child", "bad"), step("grandchild", "child"), step("good")), do=do)
    assert (await stage.run()).text == "the answer"
    prompts = [
        r.messages[-1].content
        for r in stage.model.requests
        if "do bad" in r.messages[-1].content and r.purpose == "step"
    ]
    assert len(prompts) == 2
    assert "tower is closed" in prompts[1]
    last = {each.step_id: each for each in stage.events.of(PlanStepChanged)}
    assert {name: each.status for name, each in last.items()} == {
        "bad": "failed", "child": "skipped", "grandchild": "skipped", "good": "completed",
    }  # fmt: skip
    assert "tower is closed" in last["bad"].reason
    assert "bad" in last["child"].reason
    assert last["grandchild"].reason
    final = stage.model.requests[-1]
    assert final.purpose == "reply"
    assert "tower is closed" in final.messages[-1].content
    assert "good done" in final.messages[-1].content


async def test_a_second_try_may_succeed() -> None:
    tries: list[int] = []

    def do(name: str, request: ModelRequest) -> str:
        if name == "a" and not tries:
            tries.append(1)
            raise ModelError("not yet")
        return f"{name} done"

    stage = Stage(plan(step("a"), step("b", "a")), do=do)
    await stage.run()
    assert stage.changes()[-1] == "b completed"
    assert "failed" not in " ".join(stage.changes())


@pytest.mark.parametrize(
    "broken",
    [
        "no plan at all",
        "{",
        plan(),
        plan(step("a", "b"), step("b", "a")),
        plan(step("a", "a"), step("b")),
        plan(step("a", "nobody"), step("b")),
        plan(step("a"), step("a")),
        plan(step("a"), step("b", tool_hints=["no.such.tool"])),
        plan(*(step(f"s{n}") for n in range(21))),
        json.dumps({"goal": "g"}),
        json.dumps([1, 2]),
        json.dumps({"goal": "g", "steps": [{"id": "a"}, {"description": "x"}]}),
    ],
)
async def test_a_plan_that_cannot_be_run_is_asked_for_once_more_and_then_the_loop_answers(broken: str) -> None:
    stage = Stage(broken)
    assert (await stage.run()).text == "the answer"
    assert stage.purposes() == {"plan": 2, "reply": 1}
    assert stage.events.of(PlanProposed) == []
    mended = Stage(broken, plan(step("a"), step("b")))
    await mended.run()
    assert mended.purposes() == {"plan": 2, "step": 2, "reply": 1}


@pytest.mark.parametrize(
    "wrapped",
    ["{}", "```json\n{}\n```", "Sure! Here is the plan:\n\n{}\n\nShall I begin?", "```\n{}\n```\nok",
     "<think>a {{curly}} thought</think> {}"],
)  # fmt: skip
async def test_text_or_a_fence_around_a_plan_is_tolerated(wrapped: str) -> None:
    stage = Stage(wrapped.replace("{{", "{").replace("}}", "}").replace("{}", plan(step("a"), step("b"))))
    await stage.run()
    assert stage.purposes() == {"plan": 1, "step": 2, "reply": 1}


async def test_twenty_steps_are_allowed_and_a_single_one_needs_no_plan() -> None:
    stage = Stage(plan(*(step(f"s{n}") for n in range(20))))
    await stage.run()
    assert stage.purposes()["step"] == 20
    single = Stage(plan(step("a")))
    await single.run()
    assert single.purposes() == {"plan": 1, "reply": 1}


async def test_only_so_many_steps_run_at_once() -> None:
    clock = VirtualClock()
    running = most = 0

    async def do(name: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await clock.sleep(1)
        running -= 1
        return name

    stage = Stage(plan(*(step(f"s{n}") for n in range(12))), do=lambda name, _: do(name), clock=clock)
    await stage.run()
    assert 2 <= most <= 8


async def test_a_failing_plan_call_leaves_the_loop() -> None:
    async def answer(request: ModelRequest) -> str:
        if request.purpose == "plan":
            raise ModelError("no plan today")
        return request.purpose

    services = Services(models=FunctionModel(answer))
    assert (await twelve(services).run(services.turn("go", planning="Always"))).text == "reply"


async def test_a_step_uses_tools_with_its_hints_and_records_nothing_of_its_own() -> None:
    @tool
    def special(what: str) -> str:
        """Special."""
        return f"special {what}"

    def do(name: str, request: ModelRequest) -> str | ModelResponse:
        if request.messages[-1].role == "tool":
            return request.messages[-1].content
        assert "special" in [each.name for each in request.tools]
        return ModelResponse(tool_calls=[ToolCall("1", "special", {"what": name})])

    stage = Stage(plan(step("a", tool_hints=["special"]), step("b", "a", tool_hints=["special"])), do=do,
                  tools=[special],
                  settings={"ToolFilter": {"Top": 2}})  # fmt: skip
    await stage.run()
    assert {each.run_id.partition("/")[2] for each in stage.events.of(ToolCallStarted)} == {"a", "b"}
    assert len({each.task_id for each in stage.events.of(ToolCallStarted)}) == 1
    history = await stage.services.history("s")
    assert [(m.role, m.content) for m in history] == [("user", "go"), ("assistant", "the answer")]


@pytest.mark.parametrize(("risk", "asks"), [("none", 0), ("low", 0), ("medium", 1), ("high", 1), ("critical", 1)])
async def test_a_plan_with_a_step_at_medium_or_above_is_shown_once(risk: str, asks: int) -> None:
    asked: list[Any] = []

    class Gate:
        async def request(self, request: Any) -> Decision:
            asked.append(request)
            return Decision.approve()

    stage = Stage(plan(step("a", estimated_risk=risk), step("b")), approvals=Gate())
    assert (await stage.run()).text == "the answer"
    assert [each.kind for each in asked] == ["plan"] * asks
    if asks:
        assert "do a" in asked[0].preview
        assert "do b" in asked[0].preview
        assert asked[0].editable is False


async def test_a_call_above_what_its_step_declared_is_still_gated() -> None:
    asked: list[Any] = []

    class Gate:
        async def request(self, request: Any) -> Decision:
            asked.append(request.tool)
            return Decision.approve()

    def make(risk: Risk) -> Any:
        return tool(name=f"tool_{risk.label}", description="x", risk=risk)(lambda: "ok")

    def do(name: str, request: ModelRequest) -> str | ModelResponse:
        if request.messages[-1].role == "tool":
            return "done"
        return ModelResponse(tool_calls=[ToolCall(r.label, f"tool_{r.label}", {}) for r in Risk])

    stage = Stage(
        plan(step("a", estimated_risk="high"), step("b", estimated_risk="low")), do=do, approvals=Gate(),
        tools=[make(risk) for risk in Risk],
    )  # fmt: skip
    await stage.run()
    assert asked[0] == "plan"
    assert Counter(asked[1:])["tool_critical"] == 2
    assert Counter(asked[1:])["tool_high"] == 1


async def test_nobody_to_ask_means_that_the_plan_is_rejected() -> None:
    stage = Stage(plan(step("a", estimated_risk="medium"), step("b")))
    response = await stage.run()
    assert response.finish_reason == "rejected"
    assert "step" not in stage.purposes()


async def test_cancelling_a_plan_marks_what_had_not_ended() -> None:
    started = asyncio.Event()

    async def do(name: str) -> str:
        if name == "a":
            return "a"
        started.set()
        return await asyncio.get_running_loop().create_future()

    stage = Stage(plan(step("a"), step("b", "a"), step("c", "b"), step("d", "a")), do=lambda name, _: do(name))
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(stage.run())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    last = {each.step_id: each.status for each in stage.events.of(PlanStepChanged)}
    assert last == {"a": "completed", "b": "cancelled", "c": "cancelled", "d": "cancelled"}
    assert await stage.services.store.usage.reserved() == 0


async def test_a_step_that_goes_in_circles_fails_and_the_rest_goes_on() -> None:
    def do(name: str, request: ModelRequest) -> str | ModelResponse:
        if name == "circle":
            return ModelResponse(tool_calls=[ToolCall("", "calculator", {"expression": "1"})])
        return name

    stage = Stage(plan(step("circle"), step("fine")), do=do)
    assert (await stage.run()).text == "the answer"
    last = {each.step_id: each.status for each in stage.events.of(PlanStepChanged)}
    assert last == {"circle": "failed", "fine": "completed"}


async def test_a_plan_with_huge_results_fits_a_small_window() -> None:
    def do(name: str, request: ModelRequest) -> str:
        return f"{name} " + "word " * 1500

    window = 6000
    names = [f"s{n}" for n in range(10)]
    stage = Stage(plan(*(step(n) for n in names), step("all", *names)), do=do)
    stage.model.info = FunctionModel(stage.answer, context_window=window).info
    services = Services(models=stage.model, clock=VirtualClock())
    await twelve(services).run(services.turn("go", planning="Always"))
    for request in stage.model.requests:
        assert sum(len(m.content) for m in request.messages) < window * 5


async def test_the_statuses_are_of_the_closed_set() -> None:
    stage = Stage(plan(step("a"), step("b", "a")))
    await stage.run()
    assert {each.status for each in stage.events.of(AgentStatus)} <= {
        "thinking", "planning", "calling_tool", "waiting_approval", "compacting", "retrying",
    }  # fmt: skip
    assert "planning" in {each.status for each in stage.events.of(AgentStatus)}


async def test_a_step_of_the_settings_mode_always_never_plans_deeper_than_three() -> None:
    stage = Stage(plan(step("a"), step("b")), settings={"Planning": {"Mode": "Always"}})
    await stage.run(planning=None)
    depths = {each.run_id.count("/") for each in stage.events.of(PlanStepChanged)}
    assert max(depths) == 2
    assert stage.purposes()["plan"] == 1 + 2 + 4
