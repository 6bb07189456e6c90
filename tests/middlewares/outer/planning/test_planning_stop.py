"""What stops a plan: cancellation and budget; either way every step is told of and nothing is left behind."""

import asyncio

import pytest

from sophon import ModelRequest
from sophon.errors import BudgetExceeded


async def test_a_cancelled_turn_cancels_its_steps_and_tells_of_each(stage, plan):
    s = stage(plans=[plan(a="", b="", c="b")])
    reached, stopped = asyncio.Event(), []

    async def long(request: ModelRequest) -> str:
        await s.clock.sleep(2)
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(request)
        raise AssertionError("never set")

    s.work["do b"] = [long]
    before = asyncio.all_tasks()
    task = asyncio.create_task(s.pipeline.run(s.turn()))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(stopped) == 1
    assert s.steps("cancelled") == ["b", "c"]
    assert asyncio.all_tasks() == before


async def test_a_step_that_cleans_up_slowly_is_waited_for(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    both, cleaned = asyncio.Barrier(3), []

    async def long(request: ModelRequest) -> str:
        await both.wait()
        try:
            await asyncio.Event().wait()
        finally:
            await s.clock.sleep(5)
            cleaned.append(request)
        raise AssertionError("never set")

    s.work["do a"] = s.work["do b"] = [long]
    task = asyncio.create_task(s.pipeline.run(s.turn()))
    await both.wait()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(cleaned) == 2


class SpentAtStep:
    """A meter that refuses the n-th call of a step."""

    def __init__(self, allowed: int) -> None:
        self.allowed = allowed

    async def reserve(self, request, input_tokens):
        if request.purpose == "step":
            self.allowed -= 1
        if self.allowed < 0:
            raise BudgetExceeded("Budget.Turn.Tokens", 2, 1)

    async def settle(self, reservation, request, usage):
        pass

    async def release(self, reservation):
        pass

    def find_time_limit(self) -> tuple[str, float] | None:
        return None

    def reserve_tool_call(self):
        pass


async def test_a_spent_budget_ends_the_turn_as_itself_and_cancels_the_other_steps(stage, plan):
    s = stage(plans=[plan(a="", b="", c="a")])

    async def long(request: ModelRequest) -> str:
        await asyncio.Event().wait()
        raise AssertionError("never set")

    s.work["do b"] = [long]
    ctx = s.turn()
    ctx.meter = SpentAtStep(2)
    with pytest.raises(BudgetExceeded, match=r"Budget\.Turn\.Tokens"):
        await s.go(ctx)
    assert s.steps("completed") == ["a"]
    assert s.steps("cancelled") == ["b", "c"]
    assert "Budget.Turn.Tokens" in s.reason("c")


@pytest.mark.parametrize("purpose", ["vote", "plan", "reply"])
async def test_a_budget_that_is_spent_by_planning_itself_ends_the_turn(stage, plan, purpose):
    s = stage(plans=[plan(a="", b="")], settings={"Planning": {"MaxDepth": 1}})
    ctx = s.turn(planning="LlmDecides")
    ctx.meter = SpentAtStep(99)

    async def reserve(request, input_tokens):
        if request.purpose == purpose:
            raise BudgetExceeded("Budget.Turn.Tokens", 2, 1)

    ctx.meter.reserve = reserve
    with pytest.raises(BudgetExceeded):
        await s.go(ctx)


async def test_several_errors_at_once_leave_as_the_first_of_them(stage, plan):
    async def broken(ctx, next):
        if ctx.depth:
            raise KeyError(ctx.step.id)
        await next(ctx)

    s = stage(plans=[plan(a="", b="", c="")], before=[broken])
    with pytest.raises(KeyError, match="a"):
        await s.run()
