"""Usage that no limit needs in the store is counted in the turn and recorded once, however the turn ends."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sophon import Context, Decision, ModelRequest, ModelResponse, Next, Pipeline, Risk, Services, ToolCall, Usage, tool
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.usage.contract import Reservation, Spending, UsageRow
from sophon.stores.usage.in_memory import InMemoryUsageStore
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, Budget, CapabilityRouting, LlmInvoker, ToolExecution
from sophon_middlewares.chains import twelve
from tests.gate import Gate

EACH = Usage(20, 5)
ROUNDS = 3


@tool
async def look(at: int) -> str:
    """Look."""
    return str(at)


@tool(risk=Risk.HIGH)
async def pay(to: str) -> str:
    """Pay."""
    return f"paid {to}"


class CountedUsage(InMemoryUsageStore):
    """Books that note what is written: one entry per write, with its number of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[int] = []

    async def record(self, rows: Sequence[UsageRow]) -> None:
        self.writes.append(len(rows))
        await super().record(rows)

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        if reservation is not None:
            self.writes.append(1)
        return await super().settle(reservation, row)


def looking(ends: Callable[[], ModelResponse]) -> FunctionModel:
    async def answer(request: ModelRequest) -> ModelResponse:
        done = sum(message.role == "tool" for message in request.messages)
        if done < ROUNDS:
            return ModelResponse(tool_calls=[ToolCall("", "look", {"at": done})], usage=EACH)
        return ends()

    return FunctionModel(answer)


def host(model: FunctionModel, store: InMemoryStore, **settings: Any) -> Services:
    return Services(models=model, tools=[look, pay], store=store, clock=VirtualClock(), settings=settings)


@pytest.fixture
def store() -> InMemoryStore:
    store = InMemoryStore(clock=VirtualClock())
    store.usage = CountedUsage()
    return store


def writes(store: InMemoryStore) -> list[int]:
    assert isinstance(store.usage, CountedUsage)
    return store.usage.writes


async def totals(store: InMemoryStore) -> tuple[int, Usage]:
    found = await store.usage.list_totals()
    return sum(each.calls for each in found), sum((each.usage for each in found), Usage())


async def test_a_turn_without_a_limit_writes_one_row_for_all_its_calls(store: InMemoryStore) -> None:
    services = host(looking(lambda: ModelResponse("done", usage=EACH)), store)
    ctx = services.turn("go", session_id="s")
    response = await twelve(services).run(ctx)

    assert writes(store) == [1]
    assert await totals(store) == (4, Usage(80, 20)) == (4, response.usage)
    assert (await store.usage.list_totals(session_id="s"))[0].calls == 4
    assert ctx.tally.unrecorded == {}


async def test_with_a_limit_every_attempt_is_reserved_and_settled_in_the_store(store: InMemoryStore) -> None:
    limits = {"Providers": {"*": {"DailyTokens": 1_000_000}}}
    services = host(looking(lambda: ModelResponse("done", usage=EACH)), store, Budget=limits)
    ctx = services.turn("go")
    await twelve(services).run(ctx)

    assert writes(store) == [1, 1, 1, 1]
    assert (await totals(store), await store.usage.reserved()) == ((4, Usage(80, 20)), 0)
    assert ctx.tally.unrecorded == {}


async def test_what_a_failed_turn_has_used_is_recorded(store: InMemoryStore) -> None:
    def fail() -> ModelResponse:
        raise RuntimeError("broken")

    services = host(looking(fail), store)
    with pytest.raises(Exception, match="broken"):
        await twelve(services).run(services.turn("go"))

    assert (writes(store), await totals(store)) == ([1], (3, Usage(60, 15)))


@pytest.mark.parametrize("fails", [False, True])
async def test_a_chain_that_records_no_end_records_its_usage(store: InMemoryStore, fails: bool) -> None:
    async def fail(ctx: Context, next: Next) -> None:
        await next(ctx)
        if fails:
            raise RuntimeError("broken")

    services = host(looking(lambda: ModelResponse("done", usage=EACH)), store)
    chain = Pipeline.compose(Budget(), CapabilityRouting(), fail, AgenticLoop(), ToolExecution(), LlmInvoker())
    try:
        await chain.run(services.turn("go"))
    except RuntimeError:
        assert fails

    assert (writes(store), await totals(store)) == ([1], (4, Usage(80, 20)))


async def test_a_suspended_turn_keeps_its_usage_in_its_state_and_records_it_once(store: InMemoryStore) -> None:
    async def answer(request: ModelRequest) -> ModelResponse:
        if request.messages[-1].role == "tool":
            return ModelResponse("done", usage=EACH)
        return ModelResponse(tool_calls=[ToolCall("p", "pay", {"to": "Bob"})], usage=EACH)

    services, gate = host(FunctionModel(answer), store), Gate(Decision.suspend())
    services.approvals = gate
    ctx = services.turn("go", planning="Never")
    assert (await twelve(services).run(ctx)).finish_reason == "suspended"
    assert writes(store) == []
    state = json.loads(json.dumps(ctx.state()))

    gate.decision = Decision.approve()
    assert (await twelve(services).run(services.restore(state))).text == "done"
    assert (writes(store), await totals(store)) == ([1], (2, Usage(40, 10)))
