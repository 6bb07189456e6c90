"""The strategies of Routing.Strategy on whole turns: who is asked, why, and what is learned."""

from collections.abc import Sequence
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Response, Services, Usage
from sophon.errors import NoProvider, ProviderUnavailable, SettingsError
from sophon.events import BudgetAlert, RouteChosen
from sophon.learning import explain_route
from sophon.learning.contract import CachedPolicy, StoredPolicy
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.models.gateway.provider import Provider
from sophon.settings import LearningSettings
from sophon.stores.route_averages.contract import RouteObservation
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.policies import create_policy_cache, to_vector_row
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve

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


@pytest.mark.parametrize(
    ("settings", "text", "name"),
    [
        ({}, "hello there", "small"),
        ({}, HARD, "large"),
        ({"Tiers": []}, "hello there", "small"),  # made of the prices
        ({"Tiers": []}, HARD, "large"),
        ({"Strategy": "Static", "Model": "spare/other"}, HARD, "other"),
        ({"Strategy": "Static", "Model": "best", "Aliases": {"best": "small/small"}}, HARD, "small"),
        ({"Strategy": "Intelligent"}, "hello there", "small"),
        ({"Strategy": "Intelligent"}, "what is 12 * (3 + 4)?", "84"),
        ({"Strategy": "Intelligent", "Arithmetic": False}, "what is 12 * (3 + 4)?", "small"),
        ({"Strategy": "CostAware"}, HARD, "small"),
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
    ("text", "name"),
    [("fix this function", "coder"), ("hello there", "quick"), ("write a poem", "plain")],  # nobody is creative
)
async def test_with_the_strategy_capability_a_model_that_suits_the_task_answers(text: str, name: str) -> None:
    models = [
        model("plain"),
        model("coder", capabilities=["code generation"]),
        model("quick", capabilities=["fast"]),
    ]
    services = Services(models=models, clock=VirtualClock(), settings={"Routing": {"Strategy": "Capability"}})
    assert asked(await ask(services, text)) == name


@pytest.mark.parametrize(
    ("classification", "name"),
    [
        ({}, "small"),
        ({"LowConfidence": 1.0}, "small"),  # the default measure of complexity is always sure
        ({"Complexity": "Factors", "LowConfidence": 0.0}, "small"),
        ({"Complexity": "Factors", "LowConfidence": 1.0}, "large"),
    ],
)
async def test_low_confidence_routes_a_tier_up_where_factors_measure_it(classification: Any, name: str) -> None:
    assert asked(await ask(host(Classification=classification), "hello there")) == name


async def test_a_decision_is_in_the_trace_with_its_reason() -> None:
    events = EventRecorder()
    await ask(host(events, Strategy="Tiered"), HARD)
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
        services = host(Selection="Random", Seed=7)
        runs.append([asked(await ask(services, HARD)) for _ in range(12)])
    assert runs[0] == runs[1]
    assert set(runs[0]) == {"large", "other"}


async def test_a_failing_model_is_demoted_and_the_next_messages_do_not_wait_for_it() -> None:
    down = [True]
    tiers = [{"Name": "low", "Models": ["a"]}, {"Name": "high", "Models": ["b"]}]
    services = Services(
        models=[Provider("a", [model("a")]), Provider("b", [model("b", fail=down)])],
        clock=VirtualClock(),
        settings={"Routing": {"Strategy": "Tiered", "Tiers": tiers, "Demotion": {"Failures": 1}}},
    )
    assert asked(await ask(services, HARD)) == "a"
    assert list(services.router.demotions.list_demoted(services.clock.monotonic())) == ["b/b"]


async def test_the_averages_are_stored_and_quality_moves_the_tier() -> None:
    settings = {"Strategy": "CostAware", "Quality": {"MinSamples": 2, "MinQuality": 1.0, "Exploration": 0}}
    services = host(**settings)
    names = [asked(await ask(services, "tell me about rivers and mountains")) for _ in range(3)]
    assert names == ["small", "small", "large"]
    averages = {each.model: each for each in await services.store.route_averages.list_all()}
    small = averages["small/small"]
    assert (small.calls, small.scored, small.cost_micros, small.tier) == (2, 2, 2000, "low")
    again = host(**settings)
    again.store = services.store
    assert asked(await ask(again, "tell me about rivers and mountains")) == "large"
    assert await services.router.reset(services.store) == 2
    assert asked(await ask(services, "tell me about rivers and mountains")) == "small"


@pytest.mark.parametrize(("refresh", "name"), [("0:00:30", "large"), (None, "small")])
async def test_what_is_said_at_another_process_is_heard_from_the_store(refresh: str | None, name: str) -> None:
    quality = {"MinSamples": 2, "MinQuality": 0.6, "Exploration": 0}
    services = host(Strategy="CostAware", Quality=quality, Refresh=refresh)
    text, now = "tell me about rivers and mountains", services.clock.now()
    assert [asked(await ask(services, text)) for _ in range(3)] == ["small"] * 3
    blame = [RouteObservation("small/small", "low", "chat", now, said=0.0)] * 2
    await services.store.route_averages.add(blame)
    assert asked(await ask(services, text)) == "small"  # not read yet
    assert isinstance(services.clock, VirtualClock)
    services.clock.advance(30)
    assert asked(await ask(services, text)) == name


async def test_a_reset_forgets_decisions_in_memory_and_store() -> None:
    services = host(Strategy="Intelligent")
    embedder, clock, vectors = CachingEmbedder(HashingEmbedder(16)), services.clock, services.store.vectors
    cache = create_policy_cache(vectors, embedder, clock, LearningSettings.defaults(), 0.85)
    services.embedder, services.policies = embedder, cache
    [vector] = await embedder.embed(["hello"])
    await cache.record(vector, "high", "large/large", 1.0, session_id="s", run_id="r")
    await vectors.put([to_vector_row(each, embedder.name) for each in cache.take_pending()])
    assert (await cache.lookup(vector) is not None, await vectors.count(POLICIES)) == (True, 1)
    await services.router.reset(services.store)
    assert (await cache.lookup(vector), await vectors.count(POLICIES)) == (None, 0)


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

    async def lookup(self, vector: Any) -> CachedPolicy | None:
        if self.broken:
            raise OSError("the file is corrupt")
        return CachedPolicy("high", "large/large", 0.9, self.similarity)

    async def record(self, vector: Any, tier: str, model: str, quality: float, **of: str) -> None:
        self.recorded.append((tier, model))

    async def reject(self, vector: Any, tier: str) -> list[str]:
        return []

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


@pytest.mark.parametrize(
    ("similarity", "broken", "name"), [(0.86, False, "large"), (0.85, False, "small"), (0.9, True, "small")]
)
async def test_the_tier_of_a_similar_message_is_used_again(similarity: float, broken: bool, name: str) -> None:
    services, cache = host(Strategy="Intelligent"), Cache(similarity, broken=broken)
    services.embedder, services.policies = OneVector(), cache
    assert asked(await ask(services)) == name
    assert cache.recorded == []  # the middleware Learning keeps routes


async def test_no_earlier_decision_gives_a_tier_that_is_not_permitted() -> None:
    services = host(Strategy="Intelligent", Permissions={"Users": {"ada": {"MaxTier": "low"}}})
    services.embedder, services.policies = OneVector(), Cache(0.99)
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
    assert await explain_route("hello") == "task type chat, complexity 0.00: tier 2"


def test_settings_that_name_unknown_tiers_and_task_types_are_refused() -> None:
    for settings in ({"TaskTypes": {"cooking": {}}}, {"Tiers": [TIERS[0], TIERS[0]]}, {"Strategy": "Static"}):
        with pytest.raises(SettingsError):
            host(**settings)
    with pytest.raises(SettingsError, match="no tier 'top'"):
        host(Permissions={"Users": {"ada": {"MaxTier": "top"}}})
