"""The scorer Evaluator on a host: a model judges some answers after their turn, and routing learns from it."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from sophon import ModelRequest, Services
from sophon.learning.answer_evaluation import DIMENSIONS
from sophon.learning.trajectories import Trajectory
from sophon.models.gateway.provider import Provider
from sophon.stores.vectors.contract import POLICIES
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.features.post_turn.runner import PostTurnRunner
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring

Make = Callable[..., Awaitable["Judged"]]


class Judged:
    """A host whose model answers, and says of answers what a test decides."""

    def __init__(self, accuracy: float | None, **learning: Any) -> None:
        self.asked: list[ModelRequest] = []

        async def answer(request: ModelRequest) -> str:
            if request.purpose != "evaluation":
                return (
                    "I'm sorry, but I can't help with that." if "refuse" in request.messages[-1].content else "Sydney"
                )
            self.asked.append(request)
            [canary] = re.findall(r'"canary": "(\w+)"', request.messages[0].content)
            scores = dict.fromkeys(DIMENSIONS, 1.0) | {"accuracy": accuracy, "canary": canary}
            return "nothing" if accuracy is None else json.dumps(scores)

        providers = [Provider(name, [FunctionModel(answer, name=name)]) for name in ("large", "small")]
        settings = {
            "Routing": {"Strategy": "CostAware", "Tiers": [{"Name": "low", "Models": ["small"]}]},
            "Learning": {"Scorer": "Evaluator", "Evaluator": {"Share": 1, **learning}},
            "AgentExecution": {"Titles": False},
        }
        self.services = Services(
            models=providers,
            settings=settings,
            clock=VirtualClock(),
            store=SqlHostStore("memory://", clock=VirtualClock()),
        )
        self.host = Host(self.services, twelve(self.services, {"Learning": Learning(), "Scoring": Scoring()}))
        self.afterwards = PostTurnRunner(self.services, self.host.event_bus)
        self.done = 0

    async def ask(self, text: str) -> Trajectory:
        receipt = await self.host.accept(RunRequest(text, "s", "ada"))
        self.done += 1
        async with asyncio.timeout(30):
            while self.afterwards.statistics().done + self.afterwards.statistics().failed < self.done:
                await asyncio.sleep(0)
        found = await self.services.store.trajectories.find(receipt.task_id)
        assert found is not None
        return found


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made: list[Judged] = []

    async def make(accuracy: float | None, **learning: Any) -> Judged:
        here = Judged(accuracy, **learning)
        made.append(here)
        await here.host.__aenter__()
        here.afterwards.start()
        return here

    yield make
    for here in made:
        await here.afterwards.stop()
        await here.host.__aexit__(None, None, None)


async def test_what_the_model_says_is_the_quality_and_moves_average_and_tier(make: Make) -> None:
    here = await make(0.1)
    kept = await here.ask("What is the capital of Australia?")
    assert (kept.quality, kept.judge) == (0.1, "evaluator")
    assert set(kept.scores or ()) == {"overall", *DIMENSIONS}
    averages = await here.services.store.route_averages.list_all()
    assert [(each.model, each.tier, each.scored, each.quality) for each in averages if each.scored] == [
        ("small/small", "low", 1, 0.1)
    ]
    assert await here.services.store.vectors.count(POLICIES) == 1
    [request] = here.asked
    assert request.model.name == "large"  # the one of the lowest Priority, not the one that answered


@pytest.mark.parametrize(("learning", "text"), [({"Share": 0}, "What?"), ({"DailyBudget": 0}, "What?"), ({}, "refuse")])
async def test_outside_of_sample_and_budget_and_where_form_shows_a_fault_no_model_is_asked(
    make: Make, learning: dict[str, Any], text: str
) -> None:
    here = await make(1.0, **learning)
    kept = await here.ask(text)
    assert here.asked == []
    assert kept.judge == ("form" if text == "refuse" else "")


async def test_the_budget_of_a_day_ends_and_the_model_may_be_another_one(make: Make) -> None:
    here = await make(1.0, DailyBudget=1, Model="small")
    kept = [await here.ask(text) for text in ("one", "two")]
    assert [each.judge for each in kept] == ["evaluator", ""]
    assert [each.model.name for each in here.asked] == ["small"]


async def test_an_answer_that_is_no_evaluation_judges_nothing(make: Make) -> None:
    here = await make(None)
    kept = await here.ask("What?")
    assert (len(here.asked), kept.quality, kept.judge) == (1, None, "")
