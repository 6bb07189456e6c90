"""Classification: what it leaves on the context, and that routing uses it and computes nothing twice."""

from collections.abc import Sequence
from typing import Any

from sophon import Context, ModelRequest, Pipeline, Services
from sophon.events import RouteChosen, StageCompleted
from sophon.learning import classify, complexity_factors
from sophon.learning.contract import Vector
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.message_complexity import WEIGHTS
from sophon.routing.context_keys import TASK_PROFILE
from sophon.testing import EventRecorder, FunctionModel
from sophon_middlewares import CapabilityRouting, Classification, LlmInvoker
from tests.tables import table

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


async def test_type_keywords_complexity_factors_and_confidence_are_on_the_context_and_in_the_trace() -> None:
    events = EventRecorder()
    ctx = await run(build(events), LONG)
    profile, found = ctx.get(TASK_PROFILE), complexity_factors(LONG)
    assert profile is not None
    assert (profile.task_type, profile.keywords) == (classify(LONG).task_type, classify(LONG).keywords)
    assert (profile.complexity, profile.confidence, profile.factors) == (found.score, found.confidence, found.factors)
    [event] = events.of(StageCompleted)
    assert (event.stage, event.model_call, event.data["task_type"]) == ("classifier", 1, "analysis")
    assert (event.data["complexity"], event.data["confidence"]) == (found.score, found.confidence)
    assert set(event.data["factors"]) == set(WEIGHTS)
    assert "tier" not in event.data  # the router says it, in the same trace


@table(
    ("text", "tier", "flags"),
    [("hi", "low", ()), ("fix the bug", "low", ()), ("make it good", "high", ("unsure",)), (LONG, "high", ())],
)
async def test_the_router_goes_a_tier_up_by_the_confidence_that_the_trace_shows(
    text: str, tier: str, flags: tuple[str, ...]
) -> None:
    events = EventRecorder()
    tiers = [{"Name": "low", "Models": ["function"]}, {"Name": "high", "Models": ["function"]}]
    await run(build(events, Strategy="Tiered", Tiers=tiers), text)
    [shown], [chosen] = events.of(StageCompleted), events.of(RouteChosen)
    assert (chosen.tier, chosen.flags) == (tier, flags)
    assert (shown.data["confidence"] < 0.5) is ("unsure" in flags)
    assert chosen.complexity == shown.data["complexity"]


@table(("whole", "kind"), [(True, "chat"), (False, "code_generation")])
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
    examples = {"Method": "Examples", "Examples": {"research": ["lighthouse keepers of Malta"]}}
    services = build(None, embedder, Strategy="Capability", Classification=examples)
    ctx = await run(services, "lighthouse keepers of Malta")
    profile = ctx.get(TASK_PROFILE)
    assert profile is not None
    assert (profile.task_type, profile.method) == ("research", "examples")
    # Once as the labelled example, once as the message.
    assert embedder.texts.count("lighthouse keepers of Malta") == 2
