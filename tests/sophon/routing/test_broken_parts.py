"""A corrupt policy store, a missing embedding model, a model without a price: named once and skipped; turns go on."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon import ModelRequest, Services
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.policy_cache import VectorPolicyCache
from sophon.models.embeddings.embedder_factory import FailureGuard
from sophon.models.embeddings.sentence_transformers_embedder import SentenceTransformersEmbedder
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.vectors.contract import POLICIES, VectorRow
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from tests.tables import table


async def answer(request: ModelRequest) -> str:
    return f"answered by {request.model.id}"


def build(
    embedder: Any = None, *, budget: dict[str, Any] | None = None, routing: dict[str, Any] | None = None
) -> Services:
    clock = VirtualClock()
    store, dear = InMemoryStore(clock=clock), FunctionModel(answer, name="m")
    dear.info = ModelInfo("m", "unpriced", hosting="hosted")
    cached = CachingEmbedder(FailureGuard(embedder or HashingEmbedder(16), clock.monotonic))
    policies: VectorPolicyCache = create_policy_cache(store.vectors, cached, clock)
    priced = FunctionModel(answer, name="m", prices=(1.0, 1.0))
    return Services(
        models=[Provider("unpriced", [dear]), Provider("priced", [priced], priority=2)],
        clock=clock,
        store=store,
        embedder=cached,
        policies=policies,
        settings={"Routing": routing or {"Strategy": "Intelligent"}, "Budget": budget or {"Turn": {"Cost": None}}},
    )


async def ask_twice(services: Services) -> list[str]:
    chain = twelve(services)
    return [(await chain.run(services.turn(text))).text for text in ("hello there", "and hello again")]


async def test_a_corrupt_policy_is_named_once_and_the_turns_go_on(caplog: pytest.LogCaptureFixture) -> None:
    services = build()
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert services.learning.embedder is not None
    row = VectorRow(POLICIES, "broken", services.learning.embedder.name, 16, b"short", {}, now)
    await services.store.vectors.put([row])
    with caplog.at_level(logging.WARNING, "sophon"):
        assert await ask_twice(services) == ["answered by priced/m"] * 2
    assert [each.message[:29] for each in caplog.records] == ["1 of the stored routing polic"]


async def test_a_missing_embedding_model_is_named_and_the_turns_go_on(caplog: pytest.LogCaptureFixture) -> None:
    missing = SentenceTransformersEmbedder("/nowhere/no-such-model")
    with caplog.at_level(logging.WARNING, "sophon"):
        assert await ask_twice(build(missing)) == ["answered by priced/m"] * 2
    named = [each.message for each in caplog.records if "no-such-model" in each.message]
    assert len(named) == len(set(named)) <= 2  # once by the embedder, once by routing


@table("cost", [None, 5])
async def test_a_model_without_a_price_is_asked_unless_a_cost_is_limited(cost: float | None) -> None:
    static = {"Strategy": "Static", "Model": "unpriced/m", "FallbackModel": "priced/m"}
    services = build(budget={"Turn": {"Cost": cost}}, routing=static)
    expected = "answered by unpriced/m" if cost is None else "answered by priced/m"
    assert await ask_twice(services) == [expected] * 2
