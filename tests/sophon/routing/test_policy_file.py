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
from sophon.routing.policy_file import FilePolicy, parse_policy_file
from sophon.settings import LearningSettings
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.vectors.policies import create_policy_cache
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
        policies=create_policy_cache(store.vectors, embedder, clock, LearningSettings.defaults(), 0.85),
    )


async def test_a_message_like_one_of_the_file_gets_its_tier_also_after_a_reset(tmp_path: Path) -> None:
    line = {"request": TEXT, "tier": "high", "quality": 0.9, "run_id": "a trajectory has more keys"}
    (tmp_path / "policies.jsonl").write_text(json.dumps(line) + "\n\n")
    services = build(tmp_path)
    assert "tier        high, policy" in await explain_route(TEXT, services)
    assert "tier        low" in await explain_route("good morning to you", services)
    await services.router.reset(services.store)
    assert "tier        high, policy" in await explain_route(TEXT, services)
    assert "tier        low" in await explain_route(TEXT, build(tmp_path, PolicyFile=None))


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
    ]
    content = b"\n".join(json.dumps(line).encode() for line in lines)
    found, problems = parse_policy_file(content, ("low", "high"))
    assert found == [FilePolicy("good", "low", "a/m", 1.0)]
    assert [problem.split(":")[0] for problem in problems] == [f"line {number}" for number in range(2, 8)]
