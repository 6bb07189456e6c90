"""Classification: what it leaves on the context, and that routing uses it and computes nothing twice."""

from collections.abc import Sequence
from typing import Any

import pytest

from sophon import Context, ModelRequest, Pipeline, Services
from sophon.events import RouteChosen, StageCompleted
from sophon.learning import classify, complexity, complexity_factors
from sophon.learning.complexity_factors import WEIGHTS
from sophon.learning.contract import Vector
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.routing.turn_keys import TASK_FACTORS, TASK_PROFILE, TASK_TIER
from sophon.testing import EventRecorder, FunctionModel
from sophon_middlewares import CapabilityRouting, Classification, LlmInvoker

LONG = "First analyze the parser of the compiler, then design the cache of the database so that it is thread safe"


class CountingEmbedder:
    """Hashing embedder that counts the texts that it embeds."""

    name, dimensions = "counting", 32

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._inner = HashingEmbedder(32)

    async def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.texts += texts
        return await self._inner.embed(texts)


def build(events: EventRecorder | None = None, embedder: CountingEmbedder | None = None, **routing: Any) -> Services:
    return Services(models=FunctionModel(answer), events=events, embedder=embedder, settings={"Routing": routing})


async def answer(request: ModelRequest) -> str:
    return "fine"


async def run(services: Services, text: str, *middlewares: Any) -> Context:
    ctx = services.turn(text)
    await Pipeline.compose(*(middlewares or (Classification(),)), CapabilityRouting(), LlmInvoker()).run(ctx)
    return ctx


async def test_type_keywords_complexity_factors_and_tier_are_on_the_context_and_in_the_trace() -> None:
    events = EventRecorder()
    ctx = await run(build(events), LONG)
    profile, factors = ctx.get(TASK_PROFILE), ctx.get(TASK_FACTORS)
    assert profile is not None
    assert factors is not None
    assert (profile.task_type, profile.keywords) == (classify(LONG).task_type, classify(LONG).keywords)
    assert profile.complexity == complexity(LONG)
    assert factors == complexity_factors(LONG)
    assert ctx.get(TASK_TIER) == 3
    [event] = events.of(StageCompleted)
    assert (event.stage, event.model_call, event.data["task_type"], event.data["tier"]) == (
        "classifier",
        1,
        "analysis",
        3,
    )
    assert set(event.data["factors"]) == set(WEIGHTS)


@pytest.mark.parametrize(("low", "tier"), [(0.0, 2), (1.0, 3)])
async def test_a_confidence_below_the_limit_goes_a_tier_up(low: float, tier: int) -> None:
    ctx = await run(build(Classification={"LowConfidence": low}), "hello")
    assert ctx.get(TASK_TIER) == tier


@pytest.mark.parametrize(("whole", "kind"), [(True, "chat"), (False, "code_generation")])
async def test_the_published_match_is_a_switch(whole: bool, kind: str) -> None:
    ctx = await run(build(Classification={"WholeWords": whole}), "a prefix of something")
    assert ctx.get(TASK_PROFILE).task_type == kind  # type: ignore[union-attr]


async def test_routing_takes_over_the_profile_and_classifies_by_itself_without_the_stage() -> None:
    tiers = [{"Name": "low", "Models": ["function"]}, {"Name": "high", "Models": ["function"]}]
    options: dict[str, Any] = {"Strategy": "Tiered", "Tiers": tiers}
    for middlewares, tier in (((Classification(complexity_boost=0.5),), "high"), ((_pass,), "low")):
        events = EventRecorder()
        ctx = await run(build(events, **options), "hello there", *middlewares)
        assert events.of(RouteChosen)[0].tier == tier
        assert ctx.get(TASK_PROFILE) is not None


async def _pass(ctx: Context, next: Any) -> None:
    await next(ctx)


async def test_a_message_is_embedded_once_for_classification_and_routing() -> None:
    embedder = CountingEmbedder()
    examples = {"Method": "Examples", "MinSimilarity": 0.9, "Examples": {"research": ["lighthouse keepers of Malta"]}}
    services = build(None, embedder, Strategy="Capability", Classification=examples)
    ctx = await run(services, "lighthouse keepers of Malta")
    profile = ctx.get(TASK_PROFILE)
    assert profile is not None
    assert (profile.task_type, profile.method) == ("research", "examples")
    # Once as the labelled example, once as the message.
    assert embedder.texts.count("lighthouse keepers of Malta") == 2
