"""The policy file: routing begins with its decisions, and goes on without what cannot be read."""

import json
import logging
from pathlib import Path

import pytest

from sophon import ModelRequest, Services
from sophon.learning import explain_route
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.models.gateway.provider import Provider
from sophon.routing.tier_examples_file import FilePolicy, parse_policy_file
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon.testing import FunctionModel, VirtualClock

TEXT = "Which harbour has the oldest lighthouse?"


def build(folder: Path, **routing: object) -> Services:
    async def answer(request: ModelRequest) -> str:
        return "fine"

    clock, store, embedder = VirtualClock(), InMemoryStore(), CachingEmbedder(HashingEmbedder())
    tiers = [{"Name": "low", "Models": ["a"]}, {"Name": "high", "Models": ["b"]}]
    settings = {"Routing": {"Strategy": "Intelligent", "Tiers": tiers, "PolicyFile": "policies.jsonl", **routing}}
    return Services(
        models=[Provider("a", [FunctionModel(answer)]), Provider("b", [FunctionModel(answer)])],
        store=store,
        clock=clock,
        folder=folder,
        settings=settings,
        embedder=embedder,
        policies=create_policy_cache(store.vectors, embedder, clock),
    )


async def test_a_message_like_one_of_the_file_gets_its_tier_also_after_a_reset(tmp_path: Path) -> None:
    line = {"request": TEXT, "tier": "high", "quality": 0.9, "run_id": "a trajectory has more keys"}
    (tmp_path / "policies.jsonl").write_text(json.dumps(line) + "\n\n")
    services = build(tmp_path)
    assert "tier        high, policy" in await explain_route(TEXT, services)
    assert "tier        low" in await explain_route("good morning to you", services)
    await services.learning.router.reset(services.store)
    assert "tier        high, policy" in await explain_route(TEXT, services)
    assert "tier        low" in await explain_route(TEXT, build(tmp_path, PolicyFile=None))


async def test_a_tier_of_poor_quality_in_the_file_is_none_for_such_messages(tmp_path: Path) -> None:
    (tmp_path / "policies.jsonl").write_text(json.dumps({"request": TEXT, "tier": "low", "quality": 0.3}))
    assert "tier        high, blamed" in await explain_route(TEXT, build(tmp_path))


async def test_services_of_a_program_have_cache_and_file_without_being_given_them(tmp_path: Path) -> None:
    (tmp_path / "policies.jsonl").write_text(json.dumps({"text": TEXT, "tier": "high"}))
    for strategy in ("Intelligent", "CostAware"):
        routing = {"Strategy": strategy, "PolicyFile": "policies.jsonl"}
        services = Services(folder=tmp_path, settings={"Routing": routing})
        assert services.learning.policies is not None
        assert services.learning.embedder is not None
        [vector] = await services.learning.embedder.embed([TEXT])
        await explain_route("hello", services)  # reads the file
        assert [each.tier for each in await services.learning.policies.lookup(vector)] == ["high"]
        assert Services(settings={"Routing": {"Strategy": strategy}}).learning.policies is not None
    assert Services(settings={"Routing": {"Strategy": "Tiered"}}).learning.policies is None


@pytest.mark.parametrize("content", [None, b"\xff\xfe nothing\n{]\n"])
async def test_a_file_that_cannot_be_read_is_named_once_and_routing_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "policies.jsonl").write_bytes(content)
    services = build(tmp_path)
    with caplog.at_level(logging.WARNING, "sophon"):
        for _ in range(3):
            assert "tier        low" in await explain_route(TEXT, services)
    assert [record.message.startswith("Routing.PolicyFile: ") for record in caplog.records] == [True]


def test_each_line_that_is_no_policy_is_named_by_its_number() -> None:
    lines = [
        {"text": "good", "tier": "low", "model": "a/m", "quality": 1},
        ["no object"],
        {"tier": "low"},
        {"text": "x", "tier": "premium"},
        {"text": "x", "tier": "low", "quality": 2},
        {"text": "x", "tier": "low", "quality": True},
        {"text": "x", "tier": "low", "model": 3},
        {"request": "of a trajectory", "tier": "low", "quality": None},
    ]
    content = b"\n".join(json.dumps(line).encode() for line in lines)
    found, problems = parse_policy_file(content, ("low", "high"))
    assert found == [FilePolicy("good", "low", "a/m", 1.0)]
    assert [problem.split(":")[0] for problem in problems] == [f"line {number}" for number in range(2, 9)]
