"""Ratings of answers on a host whose routing learns: the next similar message goes a tier up, and comes down again."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from sophon import ModelRequest, Services
from sophon.learning import policy_cache
from sophon.learning.policy_cache import VectorPolicyCache
from sophon.models.gateway.provider import Provider
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring

EXPIRY = timedelta(minutes=10)
ASKED = "when does the post office in our street open"


class Shop:
    """A host of three models of one to three USD, of which the cheapest answers simple messages."""

    def __init__(self, strategy: str) -> None:
        self.clock = VirtualClock()
        tiers = [{"Name": each, "Models": [each], "Complexity": [0, 0.3]} for each in ("low",)]
        tiers += [{"Name": each, "Models": [each], "Complexity": [0.3, 1]} for each in ("middle", "high")]
        self.services = Services(
            models=[Provider(each, [self._model(each, price)]) for price, each in enumerate(("low", "middle", "high"))],
            clock=self.clock,
            settings={
                "Routing": {"Strategy": strategy, "Tiers": tiers},
                "AgentExecution": {"Titles": False},
            },
            store=SqlHostStore("memory://", clock=self.clock),
        )
        self.services.learning = replace(self.services.learning, policies=VectorPolicyCache(self.clock.now))
        self.host = Host(self.services, twelve(self.services, {"Learning": Learning(), "Scoring": Scoring()}))

    def _model(self, name: str, price: int) -> FunctionModel:
        async def answer(request: ModelRequest) -> str:
            return f"This is what {name} says."

        return FunctionModel(answer, name=name, prices=(price + 1, price + 1))

    async def ask(self, text: str = ASKED) -> tuple[str, Run]:
        """Return the name of the model that answers, and the run."""
        receipt = await self.host.accept(RunRequest(text, "s", "ada"))
        run = await self.services.store.runs.get(receipt.task_id)
        async with asyncio.timeout(30):
            while not run.is_finished:
                await asyncio.sleep(0)
                run = await self.services.store.runs.get(receipt.task_id)
        history = await self.services.history("s")
        return history[-1].content.split()[3], run

    async def wait(self, seconds: float) -> None:
        until = self.clock.now() + timedelta(seconds=seconds)
        self.clock.advance(seconds)
        async with asyncio.timeout(30):
            while self.clock.now() < until:
                await asyncio.sleep(0)

    async def rate(self, run: Run, value: float) -> None:
        await self.wait(1)
        await self.host.feedback.record(run, "ada", value)


@pytest.fixture(params=["Intelligent", "CostAware"])
async def shop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Shop]:
    monkeypatch.setattr(policy_cache, "EXPIRY", EXPIRY)
    shop = Shop(request.param)
    async with shop.host:
        yield shop


async def test_five_bad_answers_in_a_row_do_not_meet_the_same_small_model(shop: Shop) -> None:
    answered: list[str] = []
    for _ in range(5):
        name, run = await shop.ask()
        answered.append(name)
        await shop.rate(run, -1)
    assert answered == ["low", "middle", "high", "high", "high"]
    assert (await shop.ask("what is the weight of an elephant"))[0] == "low"  # nothing like it was blamed


async def test_later_praise_of_the_small_model_lowers_the_tier_again_and_blame_expires(shop: Shop) -> None:
    _, blamed = await shop.ask()
    await shop.rate(blamed, -1)
    assert (await shop.ask())[0] == "middle"
    await shop.rate(blamed, 1)
    assert (await shop.ask())[0] == "low"
    await shop.rate(blamed, -1)
    await shop.wait(EXPIRY.total_seconds())
    assert (await shop.ask())[0] == "low"


async def test_answers_that_nobody_judges_teach_nothing(shop: Shop) -> None:
    assert [(await shop.ask())[0] for _ in range(12)] == ["low"] * 12
    assert await shop.services.store.vectors.count("policies") == 0
