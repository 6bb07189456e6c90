"""The strategies of Routing.Strategy on whole turns: who is asked, why, and what is learned."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Response, Services, Usage
from sophon.errors import NoProvider, ProviderUnavailable, SettingsError
from sophon.events import BudgetAlert, RouteChosen
from sophon.images import image_from_url
from sophon.learning import explain_route
from sophon.learning.contract import CachedPolicy, StoredPolicy
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.models.gateway.provider import Provider
from sophon.routing.strategies import tiered
from sophon.stores.route_averages.route_average import RouteObservation
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.stored_policies import create_policy_cache, to_vector_row
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve, wasp
from tests.tables import table

HARD = "First analyze this, then design it: ```code```"
"""Complexity 0.5 and a little by the published measure; that of a greeting is below 0.01."""

TIERS = [{"Name": "low", "Models": ["small"]}, {"Name": "high", "Models": ["large", "spare/other"]}]


def model(
    name: str,
    prices: tuple[float, float] | None = None,
    fail: list[bool] | None = None,
    capabilities: Sequence[str] = (),
) -> FunctionModel:
    async def answer(request: ModelRequest) -> ModelResponse:
        if fail and fail[0]:
            raise ProviderUnavailable("down")
        return ModelResponse(f"This is the full answer of {name}.", usage=Usage(1000, 1000))

    return FunctionModel(answer, name=name, prices=prices, capabilities=capabilities)


def host(events: EventRecorder | None = None, **settings: Any) -> Services:
    routing, permissions = {"Strategy": "Tiered", "Tiers": TIERS, **settings}, settings.pop("Permissions", {})
    routing.pop("Permissions", None)
    providers = [
        Provider("large", [model("large", (10, 10))], priority=1),
        Provider("small", [model("small", (1, 1))], priority=2),
        Provider("spare", [model("other", (5, 5))], priority=3),
    ]
    found = {"Routing": routing, "Permissions": permissions}
    return Services(models=providers, clock=VirtualClock(), events=events, settings=found)


async def ask(services: Services, text: str = "hello there", **turn: Any) -> Response:
    return await twelve(services).run(services.turn(text, **turn))


def asked(response: Response) -> str:
    return response.text.removeprefix("This is the full answer of ").rstrip(".")


@table(
    ("settings", "text", "name"),
    [
        ({}, "hello there", "small"),
        ({}, HARD, "large"),
        ({"Tiers": []}, "hello there", "small"),  # made of the prices
        ({"Tiers": []}, HARD, "large"),
        ({"Strategy": "Static", "Model": "spare/other"}, HARD, "other"),
        ({"Strategy": "Static", "Model": "other"}, HARD, "other"),  # of the only provider that has it
        ({"Strategy": "Static", "Model": "best", "Aliases": {"best": "small/small"}}, HARD, "small"),
        ({"Strategy": "Intelligent"}, "hello there", "small"),
        ({"Strategy": "Intelligent"}, "what is 12 * (3 + 4)?", "84"),
        ({"Strategy": "CostAware"}, HARD, "large"),  # nothing is known yet: by complexity
        ({"Strategy": "CostAware"}, "hello there", "small"),
        ({"Strategy": "Priority", "Deny": ["LARGE*"]}, HARD, "small"),
        ({"Strategy": "Priority", "Allow": ["spare/*"]}, HARD, "other"),
        ({"Deny": ["large/*"]}, HARD, "other"),
        ({"Selection": "LowestCost"}, HARD, "other"),
        ({"TaskTypes": {"analysis": {"MaxTier": "low"}}}, "explain it: first, then, finally ```x```", "small"),
        ({"TaskTypes": {"chat": {"Tier": "high"}}}, "hello there", "large"),
        ({"Permissions": {"Users": {"ada": {"MaxTier": "low"}}}}, HARD, "small"),
        ({"Permissions": {"Users": {"ada": {"DailyCost": 0.009}}}}, HARD, "small"),
    ],
)
async def test_the_strategy_of_the_settings_chooses_the_model(settings: Any, text: str, name: str) -> None:
    assert asked(await ask(host(**settings), text, principal="ada")) == name


@pytest.mark.parametrize(
    ("confidence", "classification", "name"),
    [
        (0.5, {}, "small"),
        (1.0, {}, "large"),
        (1.0, {"Complexity": "Prompt"}, "small"),  # the published formulas are always sure
    ],
)
async def test_low_confidence_routes_a_tier_up_where_factors_measure_it(
    confidence: float, classification: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiered, "LOW_CONFIDENCE", confidence)
    assert asked(await ask(host(Classification=classification), "hello there")) == name


SUITED = {"plain": (), "seer": ("vision",), "coder": ("code",), "quick": ("fast",), "thinker": ("complex",)}


@table(
    ("text", "images", "settings", "name"),
    [
        ("fix this function", False, {}, "coder"),
        ("hello there", False, {}, "quick"),
        ("compare both offers", False, {}, "thinker"),
        (HARD.replace("code", "x"), False, {}, "thinker"),
        ("what is this?", True, {}, "seer"),
        ("write a poem", False, {}, "plain"),  # no model is for that
        ("fix this function", False, {"Routing": {"Strategy": "Priority"}}, "plain"),
    ],
)
async def test_in_wasp_a_model_for_vision_code_quick_or_complex_work_answers_without_a_setting(
    text: str, images: bool, settings: Any, name: str
) -> None:
    models = [model(each, capabilities=able) for each, able in SUITED.items()]
    services = Services(models=models, clock=VirtualClock(), settings=settings)
    seen = [image_from_url("https://example.com/a.png")] if images else []
    assert asked(await wasp(services).run(services.turn(text, images=seen))) == name


async def test_a_decision_is_in_the_trace_and_at_debug_in_the_log_with_its_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    events = EventRecorder()
    with caplog.at_level("DEBUG", logger="sophon"):
        await ask(host(events, Strategy="Tiered"), HARD)
    assert "routed by Tiered to large/large: complexity 0." in caplog.text
    [chosen] = events.of(RouteChosen)
    assert (chosen.model, chosen.strategy, chosen.tier, chosen.task_type) == (
        "large/large",
        "Tiered",
        "high",
        "code_generation",
    )
    assert "complexity 0.5" in chosen.reason


async def test_the_sessions_model_is_used_only_within_the_permitted_tiers() -> None:
    assert asked(await ask(host(), "hello there", model="large", principal="ada")) == "large"
    limited = host(Permissions={"Users": {"ada": {"MaxTier": "low"}}})
    assert asked(await ask(limited, "hello there", model="large", principal="ada")) == "small"
    assert asked(await ask(host(Deny=["large/*"]), "hello there", model="large")) == "small"


async def test_round_robin_takes_turns_and_chance_depends_on_the_seed_alone() -> None:
    services = host(Selection="RoundRobin")
    assert [asked(await ask(services, HARD)) for _ in range(4)] == ["large", "other", "large", "other"]
    runs = []
    for _ in range(2):
        services = host(Selection="Random")
        runs.append([asked(await ask(services, HARD)) for _ in range(12)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {"large", "other"}


async def test_a_failing_model_is_demoted_and_the_next_messages_do_not_wait_for_it() -> None:
    down = [True]
    tiers = [{"Name": "low", "Models": ["a"]}, {"Name": "high", "Models": ["b"]}]
    services = Services(
        models=[Provider("a", [model("a")]), Provider("b", [model("b", fail=down)])],
        clock=VirtualClock(),
        settings={"Routing": {"Strategy": "Tiered", "Tiers": tiers}},
    )
    for _ in range(3):
        assert asked(await ask(services, HARD)) == "a"
    assert list(services.learning.router.demotions.list_demoted(services.clock.monotonic())) == ["b/b"]


async def test_what_people_say_is_stored_and_moves_the_tier() -> None:
    settings = {"Strategy": "CostAware", "Quality": {"Exploration": 0}}
    services, text = host(**settings), "tell me about rivers and mountains"
    assert [asked(await ask(services, text)) for _ in range(3)] == ["small"] * 3
    averages = {each.model: each for each in await services.store.route_averages.list_all()}
    small = averages["small/small"]
    assert (small.calls, small.scored, small.cost_micros, small.tier) == (3, 0, 2000, "low")
    blame = [RouteObservation("small/small", "low", "chat", services.clock.now(), said=0.0)] * 5
    services.learning.router.observe(blame[:4])
    assert asked(await ask(services, text)) == "small"  # four are not enough
    services.learning.router.observe(blame[4:])
    await services.store.route_averages.add(blame)
    assert asked(await ask(services, text)) == "large"
    again = host(**settings)
    again.store = services.store
    assert asked(await ask(again, text)) == "large"
    assert await services.learning.router.reset(services.store) == 2
    assert asked(await ask(services, text)) == "small"


async def test_what_is_said_at_another_process_is_heard_from_the_store() -> None:
    quality = {"MinQuality": 0.6, "Exploration": 0}
    services = host(Strategy="CostAware", Quality=quality)
    text, now = "tell me about rivers and mountains", services.clock.now()
    assert [asked(await ask(services, text)) for _ in range(3)] == ["small"] * 3
    blame = [RouteObservation("small/small", "low", "chat", now, said=0.0)] * 5
    await services.store.route_averages.add(blame)
    assert asked(await ask(services, text)) == "small"  # not read yet
    assert isinstance(services.clock, VirtualClock)
    services.clock.advance(30)
    assert asked(await ask(services, text)) == "large"


async def test_a_reset_forgets_decisions_in_memory_and_store() -> None:
    services = host(Strategy="Intelligent")
    embedder, clock, vectors = CachingEmbedder(HashingEmbedder(16)), services.clock, services.store.vectors
    cache = create_policy_cache(vectors, embedder, clock)
    services.learning = replace(services.learning, embedder=embedder, policies=cache)
    [vector] = await embedder.embed(["hello"])
    await cache.record(vector, "high", "large/large", 1.0, session_id="s", run_id="r")
    await vectors.put([to_vector_row(each, embedder.name) for each in cache.take_pending()])
    assert (len(await cache.lookup(vector)), await vectors.count(POLICIES)) == (1, 1)
    await services.learning.router.reset(services.store)
    assert (len(await cache.lookup(vector)), await vectors.count(POLICIES)) == (0, 0)


async def test_a_cost_limit_of_a_person_is_reserved_settled_alerted_and_refuses() -> None:
    events = EventRecorder()
    services = host(events, Permissions={"Users": {"ada": {"DailyCost": 0.0075}}})
    assert asked(await ask(services, principal="ada")) == "small"  # 0.002 USD
    assert asked(await ask(services, principal="bob")) == "small"
    refused = await ask(services, HARD, principal="ada")
    assert asked(refused) == "small"  # the large one does not fit
    response = await ask(services, principal="ada")
    assert response.finish_reason == "budget_exceeded"
    alerts = [(each.principal, each.name, each.share, each.refused) for each in events.of(BudgetAlert)]
    assert ("ada", "DailyCost", 1.0, True) in alerts


class Cache:
    """Policies of one decision."""

    def __init__(self, similarity: float, *, broken: bool = False) -> None:
        self.similarity, self.broken = similarity, broken
        self.recorded: list[tuple[str, str]] = []

    async def lookup(self, vector: Any) -> list[CachedPolicy]:
        if self.broken:
            raise OSError("the file is corrupt")
        return [CachedPolicy("high", "large/large", 0.9, self.similarity)]

    async def record(self, vector: Any, tier: str, model: str, quality: float, **of: Any) -> None:
        self.recorded.append((tier, model))

    def take_pending(self) -> list[StoredPolicy]:
        return []

    def forget(self, **of: str | None) -> list[str]:
        return []

    async def warm_up(self) -> None:
        """Nothing is stored."""


class OneVector:
    """Embedder for which all texts are alike."""

    name, dimensions = "one", 1

    async def embed(self, texts: Any) -> list[list[float]]:
        return [[1.0] for _ in texts]


@table(("similarity", "broken", "name"), [(0.86, False, "large"), (0.85, False, "small"), (0.9, True, "small")])
async def test_the_tier_of_a_similar_message_is_used_again(similarity: float, broken: bool, name: str) -> None:
    services, cache = host(Strategy="Intelligent"), Cache(similarity, broken=broken)
    services.learning = replace(services.learning, embedder=OneVector(), policies=cache)
    assert asked(await ask(services)) == name
    assert cache.recorded == []  # the middleware Learning keeps routes


async def test_no_earlier_decision_gives_a_tier_that_is_not_permitted() -> None:
    services = host(Strategy="Intelligent", Permissions={"Users": {"ada": {"MaxTier": "low"}}})
    services.learning = replace(services.learning, embedder=OneVector(), policies=Cache(0.99))
    assert asked(await ask(services, principal="ada")) == "small"


async def test_without_a_permitted_model_the_turn_fails_clearly() -> None:
    with pytest.raises(NoProvider, match="no permitted model"):
        await ask(host(Deny=["*"]))


async def test_an_explanation_says_what_would_be_asked_and_changes_nothing() -> None:
    services = host(Selection="RoundRobin")
    text = await explain_route(HARD, services)
    assert "tier        high" in text
    assert "models      large/large, spare/other, small/small" in text
    assert await explain_route(HARD, services) == text
    assert await explain_route("hello") == "task type chat, complexity 0.01: tier 2"


def test_settings_that_name_unknown_tiers_and_task_types_are_refused() -> None:
    for settings in ({"TaskTypes": {"cooking": {}}}, {"Tiers": [TIERS[0], TIERS[0]]}, {"Strategy": "Static"}):
        with pytest.raises(SettingsError):
            host(**settings)
    with pytest.raises(SettingsError, match="no tier 'top'"):
        host(Permissions={"Users": {"ada": {"MaxTier": "top"}}})
