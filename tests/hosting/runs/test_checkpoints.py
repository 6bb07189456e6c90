"""A host stores in each round what is new of a turn, and goes on from it, however often and wherever it was cut off."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import pytest

from sophon import Decision, Message, ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.stores import SessionRecord, Store
from sophon.stores.unit_of_work import UnitOfWork, WriteKind
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host import Host, RunRequest, TaskReceipt
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import FinishResult, LogWrite, RunOutcome, RunStore
from sophon_middlewares.chains import twelve
from tests.hosting.runs.conftest import World

ROUNDS = 6
STEPS = [
    {"id": name, "description": f"Do {name}", "depends_on": [], "estimated_risk": "low"} for name in ("one", "two")
]


class CountedRuns:
    """A store of runs that counts the bytes of each checkpoint that is handed to it."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs
        self.sizes: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        self.count_staged(unit)
        return await self._runs.record(session_id, unit, events)

    async def finish(self, run_id: str, outcome: RunOutcome, *, unit: UnitOfWork, **more: Any) -> FinishResult:
        self.count_staged(unit)
        return await self._runs.finish(run_id, outcome, unit=unit, **more)

    def count_staged(self, unit: UnitOfWork) -> None:
        for write in unit.writes:
            if write.kind is WriteKind.CHECKPOINT:
                stored: Any = write.apply
                self.count(stored.keywords["state"], stored.keywords["logs"])

    async def suspend(
        self, run_id: str, state: Mapping[str, Any], waiting: Sequence[str], logs: Any = (), **more: Any
    ) -> Any:
        self.count(state, logs)
        return await self._runs.suspend(run_id, state, waiting, logs, **more)

    def count(self, state: Mapping[str, Any], logs: Sequence[LogWrite]) -> None:
        self.sizes.append(len(json.dumps([state, [[each.log, each.start, each.entries] for each in logs]])))


class Shop:
    """A model that calls a tool in each of `rounds` rounds of a turn; the call in round `stop_at` never returns."""

    def __init__(self, store: Store, rounds: int = ROUNDS, tool_name: str = "look") -> None:
        self.store, self.rounds, self.tool_name = store, rounds, tool_name
        self.stop_at: int | None = None
        self.stopped = asyncio.Event()
        self.ran: list[str] = []
        self.hosts: list[Host] = []
        self.runs = CountedRuns(store.runs)
        store.runs = self.runs  # type: ignore[assignment] # it is one of them, by its __getattr__

    def host(self, clock: VirtualClock) -> Host:
        @tool(idempotent=True)
        async def look(number: int, where: str = "") -> str:
            """Look at a place."""
            if number == self.stop_at:
                self.stopped.set()
                await asyncio.Event().wait()
            self.ran.append(f"{where}{number}")
            return f"place {number:03} is {'empty ' * 20}"

        @tool(risk=Risk.HIGH)
        async def pay(number: int, where: str = "") -> str:
            """Pay a bill."""
            self.ran.append(f"{where}{number}")
            return f"bill {number:03} is {'paid ' * 20}"

        services = Services(
            models=FunctionModel(self.answer),
            tools=[look, pay],
            store=self.store,
            clock=clock,
            settings={"ContextWindow": {"Trigger": 1.0}, "Budget": {"Turn": {"Tokens": None, "Cost": None}}},
        )
        self.hosts.append(Host(services, twelve(services)))
        return self.hosts[-1]

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return json.dumps({"goal": "both", "steps": STEPS})
        done = 0
        for message in reversed(request.messages):
            if message.role == "user":
                break
            done += message.role == "tool"
        if done == self.rounds:
            return f"Done after {done} rounds."
        where = "one " if "one" in message.content else ""
        return ModelResponse(
            f"Round {done:03}.", [ToolCall(f"c{done}", self.tool_name, {"number": done, "where": where})]
        )


Make = Callable[..., Awaitable[Shop]]


@pytest.fixture
async def shop(store: Store) -> Any:
    shops: list[Shop] = []

    async def make(stored: int = 0, **options: Any) -> Shop:
        shops.append(Shop(store, **options))
        records = [
            SessionRecord("message", "old", Message("assistant" if number % 2 else "user", f"earlier {number}"))
            for number in range(stored)
        ]
        if records:
            await store.sessions.append("s", records, owner="ada")
        return shops[-1]

    yield make
    for each in shops:
        for host in each.hosts:
            await host.shutdown(grace_seconds=0)


async def send(host: Host, **options: Any) -> TaskReceipt:
    return await host.accept(RunRequest("Go on", "s", "ada", **options))


async def is_over(store: Store, receipt: TaskReceipt) -> bool:
    return (await store.runs.get(receipt.task_id)).is_finished


async def wait_until_over(world: World, receipt: TaskReceipt) -> None:
    await world.until(lambda: is_over(world.store, receipt))


async def texts(store: Store) -> list[str]:
    return [message.content for message in (await store.sessions.load_history("s")).messages]


async def test_a_round_writes_the_same_behind_any_history_and_in_any_round(
    shop: Make, store: Store, clock: VirtualClock
) -> None:
    sizes: dict[int, list[int]] = {}
    for stored in (10, 500):
        here = await shop(stored - len(await texts(store)), rounds=100)
        host = here.host(clock)
        await host.start()
        receipt = await send(host, max_iterations=200)
        async with asyncio.timeout(120):
            while not await is_over(store, receipt):
                await asyncio.sleep(0)
        await host.shutdown(grace_seconds=0)
        sizes[stored] = list(here.runs.sizes)
        assert len(here.runs.sizes) == 100
    # From the 31st round on the window of the loop detector is full.
    for each in sizes.values():
        assert max(each[31:]) - min(each[31:]) < 100
        assert max(each) < 5000
        assert max(each) - each[5] < 2500
    assert abs(sizes[10][99] - sizes[500][99]) < 100


@pytest.mark.parametrize("planning", ["Never", "Always"])
@pytest.mark.parametrize("stop_at", [0, ROUNDS - 1])
async def test_a_turn_that_was_cut_off_in_a_round_ends_as_if_it_had_not_been(
    shop: Make, store: Store, clock: VirtualClock, stop_at: int, planning: str
) -> None:
    here, world = await shop(8), World(store, clock)
    here.stop_at = stop_at
    first = here.host(clock)
    await first.start()
    receipt = await send(first, planning=planning)
    await here.stopped.wait()
    await first.shutdown(grace_seconds=0)
    here.stop_at = None

    await here.host(clock).start()
    await wait_until_over(world, receipt)

    expected = [
        f"{where}{number}" for where in (("", "one ") if planning == "Always" else ("",)) for number in range(ROUNDS)
    ]
    assert sorted(here.ran) == sorted(expected)
    if planning == "Never":
        assert await texts(store) == whole_conversation(8)
    assert await store.runs.load_logs(receipt.task_id) == {}


async def test_a_turn_that_is_cut_off_in_every_round_writes_no_message_twice(
    shop: Make, store: Store, clock: VirtualClock
) -> None:
    here, world = await shop(8), World(store, clock)
    receipt: TaskReceipt | None = None
    for number in range(ROUNDS):
        here.stop_at = number
        here.stopped.clear()
        host = here.host(clock)
        await host.start()
        receipt = receipt or await send(host)
        await here.stopped.wait()
        await host.shutdown(grace_seconds=0)
    here.stop_at = None
    await here.host(clock).start()
    assert receipt is not None
    await wait_until_over(world, receipt)

    assert [int(each) for each in here.ran] == list(range(ROUNDS))
    assert await texts(store) == whole_conversation(8)
    assert here.runs.sizes[-1] - min(here.runs.sizes[1:]) < 1000


async def test_a_turn_that_waits_for_a_person_in_every_round_writes_no_message_twice(
    shop: Make, store: Store, clock: VirtualClock
) -> None:
    here, world = await shop(8, tool_name="pay"), World(store, clock)
    host = here.host(clock)
    await host.start()
    receipt = await send(host)
    for _ in range(ROUNDS):
        approval = await world.suspended(host, receipt)
        await host.approvals.decide(approval, Decision.approve(), "ada")

        async def has_gone_on(approval: str = approval) -> bool:
            run = await store.runs.get(receipt.task_id)
            return run.is_finished or (run.status == "suspended" and run.waiting_for[0] != approval)

        await world.until(has_gone_on)
    await wait_until_over(world, receipt)
    assert [int(each) for each in here.ran] == list(range(ROUNDS))
    assert await texts(store) == whole_conversation(8, "bill {:03} is " + "paid " * 20)
    assert here.runs.sizes[-1] - min(here.runs.sizes[2:]) < 1000


def whole_conversation(stored: int, result: str = "place {:03} is " + "empty " * 20) -> list[str]:
    """What is stored of a turn that nobody has cut off."""
    rounds = [text for number in range(ROUNDS) for text in (f"Round {number:03}.", result.format(number))]
    return [*(f"earlier {number}" for number in range(stored)), "Go on", *rounds, f"Done after {ROUNDS} rounds."]
