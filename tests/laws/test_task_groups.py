"""Laws: a failed child of an `asyncio.TaskGroup` is a failure like any other, and cancels no turn."""

import asyncio

import pytest

from sophon import ApprovalRequest, Context, Decision, Next, Pipeline, Risk, Services, Tool, ToolCall, tool
from sophon._python.task_groups import mend_task_groups
from sophon.chain.pipeline import Middleware
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.testing import FunctionModel, ScriptedModel
from sophon_middlewares.chains import twelve
from tests.tables import table


async def _fail() -> None:
    await asyncio.sleep(0)
    raise ValueError("child")


async def lose_a_child() -> None:
    """Wait at the end of a group whose child fails."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_fail())


async def lose_a_child_and_go_on() -> None:
    try:
        await lose_a_child()
    except* ValueError:
        pass


@tool
async def handled() -> str:
    """Handle the failure."""
    await lose_a_child_and_go_on()
    return "handled"


@tool
async def raised() -> str:
    """Raise the group."""
    await lose_a_child()
    return ""


@tool(risk=Risk.HIGH)
async def pay() -> str:
    """Pay."""
    return "paid"


class Gate:
    async def request(self, request: ApprovalRequest) -> Decision:
        await lose_a_child_and_go_on()
        return Decision.approve()


async def run(tools: list[Tool], *parts: Middleware) -> list[str]:
    """Return the results of the tools, called at once, and the reply."""
    calls = [ToolCall(str(index), each.name) for index, each in enumerate(tools)]
    script: list[str | list[ToolCall]] = [calls, "done"] if calls else ["done"]
    services = Services(models=ScriptedModel(script), tools=[*dict.fromkeys(tools)], approvals=Gate())
    ctx = services.turn("x")
    first, *rest = twelve(services)
    response = await Pipeline.compose(first, *parts, *rest).run(ctx)
    return [*(each.content for each in ctx.messages if each.role == "tool"), response.text]


@table("tools", [[handled], [handled, handled], [pay]])
async def test_a_handled_failure_of_a_group_ends_no_turn(tools: list[Tool]) -> None:
    assert await run(tools) == [*("handled" if each is handled else "paid" for each in tools), "done"]


@table("others", [[], [handled]])
async def test_a_group_that_a_tool_raises_is_its_error(others: list[Tool]) -> None:
    result, *_, text = await run([raised, *others])
    assert "ValueError" in result or "ExceptionGroup" in result
    assert ("cancelled" in result, text) == (False, "done")


async def test_a_model_a_layer_and_a_middleware_may_handle_it() -> None:
    async def layer(request: ModelRequest, call: Call) -> ModelResponse:
        await lose_a_child_and_go_on()
        return await call(request)

    async def middleware(ctx: Context, next: Next) -> None:
        await lose_a_child_and_go_on()
        with ctx.call_layer(layer):
            await next(ctx)

    assert await run([], middleware) == ["done"]

    async def answer(request: ModelRequest) -> str:
        await lose_a_child_and_go_on()
        return "hello"

    services = Services(models=FunctionModel(answer))
    assert (await twelve(services).run(services.turn("x"))).text == "hello"


async def test_a_cancellation_behind_a_failed_group_still_counts() -> None:
    waits = asyncio.Event()

    async def middleware(ctx: Context, next: Next) -> None:
        await lose_a_child_and_go_on()
        waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await next(ctx)  # swallowed

    turn = asyncio.create_task(run([], middleware))
    await waits.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


def test_groups_are_mended_once() -> None:
    leave = asyncio.TaskGroup.__aexit__
    mend_task_groups()
    assert asyncio.TaskGroup.__aexit__ is leave


async def test_a_cancellation_during_the_failure_still_counts() -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().call_soon(task.cancel)  # before the child has failed
    with pytest.raises(asyncio.CancelledError):
        await lose_a_child()
    assert task.uncancel() == 0
