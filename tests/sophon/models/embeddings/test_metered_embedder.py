"""The calls of an embedding model are metered like those of other models: usage, price and limits."""

from collections.abc import Sequence
from typing import Any

import pytest

from sophon import Services
from sophon.errors import BudgetExceeded, ModelTimeout, PriceUnknown, ProviderUnavailable
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.models.embeddings.embedder_factory import FailureGuard, describe_model
from sophon.models.embeddings.metered_embedder import MeteredEmbedder
from sophon.models.model import ModelInfo, metering
from sophon.settings import EmbeddingsSettings, Settings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from sophon_middlewares.outer.budget.embedding_meter import EmbeddingMeter
from tests.tables import table

PRICED = ModelInfo("embed", "remote", prices=(1000.0, 0.0), hosting="hosted")
"""A token costs 1,000 micro-USD."""


class Remote:
    """Embedder whose provider reports seven tokens for each text."""

    name, dimensions = "remote/embed", 2

    def __init__(self, failure: Exception | None = None) -> None:
        self.failure = failure
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError("the provider's count is asked for")

    async def embed_counted(self, texts: Sequence[str]) -> tuple[list[list[float]], int]:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return [[1.0, 0.0] for _ in texts], 7 * len(texts)


async def answer(request: Any) -> str:
    return "A full answer."


def build(remote: Remote, info: ModelInfo = PRICED, **budget: Any) -> Services:
    clock = VirtualClock()
    settings = {"Routing": {"Classification": {"Method": "Examples"}, "Strategy": "Tiered"}, "Budget": budget}
    guard = FailureGuard(MeteredEmbedder(remote, info), clock.monotonic)
    return Services(
        models=FunctionModel(answer),
        store=InMemoryStore(clock=clock),
        clock=clock,
        settings=settings,
        embedder=CachingEmbedder(guard),
    )


async def totals(services: Services) -> dict[str, tuple[int, int, int]]:
    found = await services.store.usage.list_totals()
    return {each.model: (each.calls, each.usage.input_tokens, each.usage.cost_micros) for each in found}


async def test_a_turn_pays_for_its_embeddings_once() -> None:
    services = build(Remote())
    await twelve(services).run(services.turn("hello there"))
    ctx = services.turn("hello there")
    await twelve(services).run(ctx)
    calls, tokens, micros = (await totals(services))["embed"]
    examples = tokens - 7
    assert (calls, micros) == (2, tokens * 1000)  # the examples and the message; the second turn found both
    assert examples % 7 == 0
    assert ctx.tally.metered.cost_micros == 0


async def test_a_limit_refuses_the_call_and_the_turn_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    remote = Remote()
    services = build(remote, Providers={"remote": {"DailyTokens": 2}})
    response = await twelve(services).run(services.turn("hello there"))
    assert (response.text, remote.asked) == ("A full answer.", 0)
    assert "DailyTokens" in caplog.text


@table(("failure", "tokens"), [(ProviderUnavailable("down"), 0), (ModelTimeout("late"), 3), (None, 7)])
async def test_a_failed_call_costs_nothing_unless_it_timed_out(failure: Exception | None, tokens: int) -> None:
    store, clock = InMemoryStore(), VirtualClock()
    budget = Settings.from_mapping({"Budget": {"Providers": {"remote": {"DailyTokens": 50}}}}).budget
    embedder = MeteredEmbedder(Remote(failure), PRICED)
    with metering(EmbeddingMeter(store.usage, budget, clock, session_id="s", run_id="r")):
        if failure is None:
            await embedder.embed(["find this"])
        else:
            with pytest.raises(type(failure)):
                await embedder.embed(["find this"])
    found = await store.usage.list_totals()
    assert sum(each.usage.input_tokens for each in found) == tokens


async def test_outside_of_a_turn_the_limits_of_the_provider_hold_and_an_unknown_price_is_not_zero() -> None:
    store, clock, remote = InMemoryStore(), VirtualClock(), Remote()
    budget = Settings.from_mapping({"Budget": {"Providers": {"*": {"MonthlyCost": 0.01}}}}).budget
    meter = EmbeddingMeter(store.usage, budget, clock)
    with metering(meter):
        await MeteredEmbedder(remote, PRICED).embed(["find this"])
        with pytest.raises(BudgetExceeded, match="MonthlyCost"):
            await MeteredEmbedder(remote, PRICED).embed(["find this and much more than that"])
        with pytest.raises(PriceUnknown):
            await MeteredEmbedder(remote, ModelInfo("embed", "remote", hosting="hosted")).embed(["find this"])
    assert remote.asked == 1


async def test_a_refusal_does_not_pause_the_embedder_for_others() -> None:
    clock, remote = VirtualClock(), Remote()
    guard = FailureGuard(MeteredEmbedder(remote, PRICED), clock.monotonic)
    budget = Settings.from_mapping({"Budget": {"Providers": {"*": {"DailyTokens": 1}}}}).budget
    with metering(EmbeddingMeter(InMemoryStore().usage, budget, clock)), pytest.raises(BudgetExceeded):
        await guard.embed(["find this"])
    with metering(EmbeddingMeter(InMemoryStore().usage, Settings.from_mapping({}).budget, clock)):
        assert len(await guard.embed(["find this"])) == 1


@table(
    ("settings", "prices", "hosting"),
    [
        ({"Provider": "OpenAi", "Model": "unheard-of", "Price": 0.5}, (0.5, 0.0), "hosted"),
        ({"Provider": "OpenAi", "Model": "unheard-of"}, (3.0, 4.0), "hosted"),
        ({"Provider": "OpenAi", "Model": "m", "BaseUrl": "http://localhost:8000/v1"}, None, "private"),
        ({"Provider": "Ollama", "Model": "nomic-embed-text"}, None, "local"),
    ],
)
def test_the_price_is_that_of_the_settings(settings: dict[str, Any], prices: Any, hosting: str) -> None:
    found = describe_model(Settings.from_mapping({"Embeddings": settings}).embeddings, (3.0, 4.0))
    assert found is not None
    assert (found.prices, found.hosting) == (prices, hosting)


def test_what_runs_in_this_process_is_not_metered() -> None:
    assert describe_model(EmbeddingsSettings.defaults()) is None
