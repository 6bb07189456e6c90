"""Feedback on answers: stored once per person, told to the session, and learnt from."""

from dataclasses import replace
from typing import Any

import pytest

from sophon.errors import InputError
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.policy_cache import VectorPolicyCache
from sophon.learning.trajectories import Trajectory
from sophon.services import Services
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon_hosting.host import Host
from sophon_hosting.store.runs.contract import Run
from tests.hosting.runs.conftest import World

TEXT = "Where is the parser?"


async def finish(world: World, host: Host) -> Run:
    receipt = await world.send(host, TEXT)

    async def is_over() -> bool:
        return (await world.run(receipt)).is_finished

    await world.until(is_over)
    return await world.run(receipt)


@pytest.fixture
async def host(world: World) -> Any:
    host = world.host()
    services: Services = host.services
    services.learning = replace(services.learning, embedder=CachingEmbedder(HashingEmbedder(32)))
    services.learning = replace(
        services.learning, policies=create_policy_cache(world.store.vectors, services.learning.embedder, world.clock)
    )
    async with host:
        yield host


async def remember(world: World, run: Run, score: float) -> None:
    found = Trajectory(
        *(run.id, run.session_id, run.owner, world.clock.now(), TEXT, "there"),
        tier="premium",
        model="a/large",
        scores={"overall": score},
        quality=score,
        judge="evaluator",
    )
    await world.store.trajectories.add([TrajectoryWrite(found, 10)])


async def test_the_same_feedback_is_stored_and_told_once(world: World, host: Host):
    run = await finish(world, host)
    for _ in range(2):
        await host.feedback.record(run, "ada", 1, text=" good ", source="page")
    await host.feedback.record(run, "bob", -1)
    await host.event_bus.flush("s")
    told = [each for each in await world.store.events.list_after("s", 0) if each.name == "feedback_recorded"]
    assert [(each.task_id, each.data["value"], each.data["source"]) for each in told] == [
        (run.id, 1.0, "page"),
        (run.id, -1.0, "api"),
    ]
    given = await world.store.trajectories.list_feedback(run.id)
    assert {(each.principal, each.value, each.text, each.session_id) for each in given} == {
        ("ada", 1.0, "good", "s"),
        ("bob", -1.0, "", "s"),
    }


async def test_praise_and_blame_are_kept_for_similar_messages_and_can_be_taken_back(world: World, host: Host):
    run = await finish(world, host)
    await remember(world, run, 0.7)
    policies = host.services.learning.policies
    assert isinstance(policies, VectorPolicyCache)
    assert host.services.learning.embedder is not None
    (vector,) = await host.services.learning.embedder.embed([TEXT])
    for value, quality in ((1, 0.91), (-1, 0.21)):
        await host.feedback.record(run, "ada", value)
        [found] = await policies.lookup(vector)
        assert (found.tier, found.model, round(found.quality, 2)) == ("premium", "a/large", quality)
        assert found.is_poor == (value < 0)
        assert await world.store.vectors.count(POLICIES) == 1
    await host.feedback.record(run, "ada", 0)
    assert (len(await policies.lookup(vector)), await world.store.vectors.count(POLICIES)) == (0, 0)
    [average] = await world.store.route_averages.list_all()
    assert (average.key, average.scored, average.rated) == (("a/large", "premium", "chat"), 0, 2)
    assert average.said == pytest.approx(1 + 0.1 * (0 - 1))


async def test_a_deleted_session_takes_its_routes_along(world: World, host: Host):
    run = await finish(world, host)
    await remember(world, run, 0.9)
    await host.feedback.record(run, "ada", 1)
    policies = host.services.learning.policies
    assert isinstance(policies, VectorPolicyCache)
    assert host.services.learning.embedder is not None
    (vector,) = await host.services.learning.embedder.embed([TEXT])
    assert len(await policies.lookup(vector)) == 1
    await host.delete_session("s")
    assert (await policies.lookup(vector), await world.store.vectors.count(POLICIES)) == ([], 0)
    assert await world.store.trajectories.list() == []


async def test_secrets_in_a_correction_are_replaced(world: World, host: Host):
    run = await finish(world, host)
    secret = "sk-" + "ant-api03-" + "Ab1" * 12
    await host.feedback.record(run, "ada", -1, text=f"use {secret}")
    [given] = await world.store.trajectories.list_feedback(run.id)
    assert secret not in given.text
    assert "REDACTED" in given.text


@pytest.mark.parametrize(
    ("value", "text"), [(1.1, ""), (-2, ""), (float("nan"), ""), (float("inf"), ""), (1, "x" * 4001)]
)
async def test_what_is_no_feedback_is_refused(world: World, host: Host, value: float, text: str):
    run = await finish(world, host)
    with pytest.raises(InputError):
        await host.feedback.record(run, "ada", value, text=text)
    assert list(await world.store.trajectories.list_feedback(run.id)) == []


async def test_a_task_without_an_answer_and_one_off_the_record_take_none(world: World, host: Host):
    receipt = await world.send(host, "wait")
    with pytest.raises(InputError, match="no answer yet"):
        await host.feedback.record(await world.run(receipt), "ada", 1)
    world.release.set()
    host.services.learning = replace(host.services.learning, is_enabled=False)
    with pytest.raises(InputError, match="off the record"):
        await host.feedback.record(await world.run(receipt), "ada", 1)
