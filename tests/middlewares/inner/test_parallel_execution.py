"""Several calls of one reply at once: concurrent, bounded, in order, each on its own."""

import anyio
import pytest

from sophon import Context, Decision, ModelRequest, ModelResponse, Next, Pipeline, Risk, Services, ToolCall, tool
from sophon.approvals import ApprovalRequest
from sophon.testing import FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, ToolExecution


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(f"c{n}", name, {}) for n, name in enumerate(names)]


class Room:
    """Counts who is in it at once."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock, self.inside, self.most = clock, 0, 0
        self.log: list[str] = []

    async def stay(self, name: str, seconds: float = 1) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.log.append(f"+{name}")
        await self.clock.sleep(seconds)
        self.log.append(f"-{name}")
        self.inside -= 1
        return name


async def test_no_more_than_eight_run_at_once(inner: Pipeline) -> None:
    clock = VirtualClock()
    room = Room(clock)

    @tool
    async def slow(n: int) -> str:
        """Take a second."""
        return await room.stay(str(n))

    many = [ToolCall(f"c{n}", "slow", {"n": n}) for n in range(20)]
    with ScriptedModel([many, "done"]) as model:
        await inner.run(Services(models=model, tools=[slow], clock=clock).turn("hi"))

    assert (room.most, clock.monotonic()) == (8, 3.0)


async def test_results_return_in_call_order_whoever_is_first(inner: Pipeline) -> None:
    clock = VirtualClock()

    @tool
    async def wait(seconds: int) -> str:
        """Wait."""
        await clock.sleep(seconds)
        return f"after {seconds}"

    batch = [ToolCall(f"c{s}", "wait", {"seconds": s}) for s in (3, 1, 2)]
    with ScriptedModel([batch, "done"]) as model:
        ctx = Services(models=model, tools=[wait], clock=clock).turn("hi")
        await inner.run(ctx)

    assert [m.content for m in ctx.messages if m.role == "tool"] == ["after 3", "after 1", "after 2"]


async def test_an_exception_lets_the_siblings_finish_and_the_first_in_call_order_leaves() -> None:
    finished: list[str] = []

    async def guard(ctx: Context, next: Next) -> None:
        if ctx.settling and ctx.pending[0].name == "bad":
            raise ValueError(ctx.pending[0].id)
        await next(ctx)

    @tool
    async def good() -> str:
        """Work."""
        await anyio.lowlevel.checkpoint()
        finished.append("good")
        return "ok"

    chain = Pipeline.compose(AgenticLoop(), ParallelExecution(), guard, ToolExecution(), LlmInvoker())
    with ScriptedModel([calls("good", "bad", "good", "bad")]) as model, pytest.raises(ValueError, match=r"^c1$"):
        await chain.run(Services(models=model, tools=[good]).turn("hi"))

    assert finished == ["good", "good"]


async def test_a_serial_tool_is_a_barrier(inner: Pipeline) -> None:
    clock = VirtualClock()
    room = Room(clock)

    @tool
    async def free(name: str) -> str:
        """Beside others."""
        return await room.stay(name)

    @tool(serial=True)
    async def alone(name: str) -> str:
        """Never beside others."""
        return await room.stay(name)

    order = [("free", "a"), ("free", "b"), ("alone", "S"), ("free", "c"), ("free", "d")]
    batch = [ToolCall(name, kind, {"name": name}) for kind, name in order]
    with ScriptedModel([batch, "done"]) as model:
        await inner.run(Services(models=model, tools=[free, alone], clock=clock).turn("hi"))

    assert room.log == ["+a", "+b", "-a", "-b", "+S", "-S", "+c", "+d", "-c", "-d"]


async def test_a_branch_that_waits_for_a_person_holds_no_place_and_nobody_up() -> None:
    clock = VirtualClock()
    done: list[str] = []

    @tool(risk=Risk.HIGH)
    async def grave() -> str:
        """Ask first."""
        done.append(f"grave at {clock.monotonic():g}")
        return "ok"

    @tool
    async def light() -> str:
        """Do not ask."""
        done.append(f"light at {clock.monotonic():g}")
        return "ok"

    class SlowGate:
        async def request(self, request: ApprovalRequest) -> Decision:
            await clock.sleep(60)
            return Decision.approve()

    services_settings = {"Tools": {"MaxParallel": 1}}
    chain = Pipeline.compose(AgenticLoop(), ParallelExecution(), Approval(), ToolExecution(), LlmInvoker())
    with ScriptedModel([calls("grave", "light"), "done"]) as model:
        services = Services(
            models=model, tools=[grave, light], clock=clock, approvals=SlowGate(), settings=services_settings
        )
        await chain.run(services.turn("hi"))

    assert done == ["light at 0", "grave at 60"]


async def test_one_call_and_a_model_pass_go_straight_through(inner: Pipeline) -> None:
    branches: list[int] = []

    async def watch(ctx: Context, next: Next) -> None:
        branches.append(id(ctx))
        await next(ctx)

    @tool
    async def one() -> str:
        """One."""
        return "1"

    chain = Pipeline.compose(AgenticLoop(), ParallelExecution(), watch, ToolExecution(), LlmInvoker())
    with ScriptedModel([calls("one"), "done"]) as model:
        ctx = Services(models=model, tools=[one]).turn("hi")
        await chain.run(ctx)

    assert set(branches) == {id(ctx)}


async def test_cancelling_the_turn_cancels_every_branch(inner: Pipeline) -> None:
    ended: list[str] = []

    @tool
    async def forever(name: str) -> str:
        """Never return."""
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(name)
        return ""

    async def answer(request: ModelRequest) -> ModelResponse:
        return ModelResponse(tool_calls=[ToolCall(n, "forever", {"name": n}) for n in "abc"])

    ctx = Services(models=FunctionModel(answer), tools=[forever]).turn("hi")
    async with anyio.create_task_group() as group:
        group.start_soon(inner.run, ctx)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    assert sorted(ended) == ["a", "b", "c"]


async def test_the_transcript_is_valid_after_every_batch(inner: Pipeline) -> None:
    @tool
    async def one(n: int) -> str:
        """One."""
        return str(n)

    async def answer(request: ModelRequest) -> str | ModelResponse:
        assert_valid_transcript(request.messages)
        size = len(request.messages)
        if size > 30:
            return "done"
        return ModelResponse(tool_calls=[ToolCall("same-id", "one", {"n": n}) for n in range(3)])

    await inner.run(Services(models=FunctionModel(answer), tools=[one]).turn("hi"))
