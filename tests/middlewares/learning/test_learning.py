"""Scoring and Learning: what is kept of a finished turn, and of which turns nothing is."""

from dataclasses import replace
from typing import Any

import pytest

from sophon import Context, ModelRequest, ModelResponse, Pipeline, Services, ToolCall, tool
from sophon.chain.pipeline import Next
from sophon.chain.placement import place
from sophon.context import Step
from sophon.errors import CompositionError, ProviderUnavailable, StoreError
from sophon.learning.contract import ScoredTurn
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.fitness import Fitness
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.task_profile import TaskProfile
from sophon.routing.context_keys import ROUTE, SCORE, TASK_PROFILE
from sophon.routing.route_record import RouteRecord
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon.testing import FunctionModel, VirtualClock
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_additions
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring
from sophon_middlewares.outer.session_events.session_events import SessionEvents
from tests.tables import table

SECRET = "sk-" + "ant-api03-" + "Ab1" * 12


@tool()
async def look(what: str) -> str:
    """Look at something."""
    if what == "nothing":
        raise ValueError("there is nothing")
    return f"saw {what}"


async def answer(request: ModelRequest) -> str | ModelResponse:
    text = next(each.content for each in reversed(request.messages) if each.role == "user")
    if text.startswith("look") and request.messages[-1].role == "user":
        names = text.split()[1:]
        return ModelResponse("", [ToolCall(f"c{each}", "look", {"what": each}) for each in names])
    if text.startswith("empty"):
        return " "
    return f"The answer to {text} is a long and good one."


async def route(ctx: Context, next: Next, /) -> None:
    """Leave what classification and routing leave."""
    ctx.put(TASK_PROFILE, TaskProfile("research", complexity=0.4))
    ctx.put(ROUTE, RouteRecord("Intelligent", "a/large", tier="premium"))
    await next(ctx)


class Fixed:
    """Gives every answer the same score."""

    def __init__(self, score: float) -> None:
        self.score_of_all = score
        self.seen: list[ScoredTurn] = []

    def score(self, turn: ScoredTurn) -> Fitness:
        self.seen.append(turn)
        return Fitness(self.score_of_all, 1.0, 1.0, 1.0, 1.0)


def build(settings: dict[str, Any] | None = None, **more: Any) -> Services:
    clock, store = VirtualClock(), InMemoryStore()
    embedder = CachingEmbedder(HashingEmbedder(32))
    policies = create_policy_cache(store.vectors, embedder, clock)
    options = {"models": FunctionModel(answer), "tools": [look], "embedder": embedder, "policies": policies} | more
    return Services(store=store, clock=clock, settings={"Planning": {"Mode": "Never"}, **(settings or {})}, **options)


def chain(services: Services, scorer: Fixed | None = None) -> Pipeline:
    middlewares = list(twelve(services))
    return Pipeline.compose(middlewares[0], Learning(), Scoring(scorer=scorer), route, *middlewares[1:])


async def run(services: Services, text: str, scorer: Fixed | None = None, **options: Any) -> Context:
    ctx = services.turn(text, **options)
    await chain(services, scorer).run(ctx)
    return ctx


async def test_a_turn_leaves_its_trajectory_with_secrets_replaced_and_texts_cut():
    services = build()
    ctx = await run(services, f"look apple nothing with {SECRET} " + "x" * 5000, principal="ada", session_id="s")
    [found] = await services.store.trajectories.list()
    assert (found.run_id, found.session_id, found.principal) == (ctx.run_id, "s", "ada")
    assert (found.task_type, found.complexity, found.tier, found.strategy) == (
        "research",
        0.4,
        "premium",
        "Intelligent",
    )
    assert found.model == "function/function"  # the model that answered, not the one that routing put first
    assert (found.tools, found.finish_reason) == (("look",), "stop")
    assert SECRET not in found.request + found.reply
    assert found.request.startswith("look apple nothing with")
    assert len(found.request) <= 4000 >= len(found.reply)
    assert (ctx.get(SCORE), found.quality, found.judge) == (None, None, "")  # the form of the answer has no fault
    assert found.output_tokens > 0


@table(
    ("scorer", "text", "quality", "judge"),
    [
        ("Fitness", "look apple", None, ""),  # shown, and no judgement
        ("Noop", "look apple", None, ""),
        ("Heuristic", "look apple", None, ""),
        ("Heuristic", "look nothing", 0.2, "form"),
    ],
)
async def test_only_a_judge_gives_an_answer_a_quality(scorer: str, text: str, quality: float | None, judge: str):
    services = build({"Learning": {"Scorer": scorer}})
    ctx = await run(services, text)
    [found] = await services.store.trajectories.list()
    score = ctx.get(SCORE)
    assert (found.quality, found.judge) == (quality, judge)
    assert (found.scores or {}).get("overall") == (None if score is None else round(score.overall, 4))
    assert (score is None) == (scorer == "Heuristic" and not judge)
    assert await services.store.vectors.count(POLICIES) == (quality is not None)
    assert await services.store.route_averages.list_all() == []


async def test_the_scorer_sees_the_turn_itself_and_its_failed_calls():
    services, scorer = build(), Fixed(0.9)
    await run(services, "look apple", scorer, session_id="s")
    await run(services, "look nothing pear", scorer, session_id="s")
    seen = scorer.seen[-1]
    assert (seen.tools_used, seen.tool_failures, seen.task_type) == (2, 1, "research")
    assert seen.request_text == "look nothing pear"
    assert seen.reply_text.startswith("The answer to look nothing")
    assert seen.tools_offered > 1


@table("score", [float("nan"), float("inf"), -1.0, 2.0])
async def test_a_scorer_that_returns_no_score_gives_the_quality_zero(score: float):
    services = build()
    await run(services, "hello", Fixed(score))
    [found] = await services.store.trajectories.list()
    assert found.quality == 0


@table(("score", "kept"), [(0.8, 1), (0.79, 0)])
async def test_the_route_of_a_good_answer_is_kept_and_found_again(score: float, kept: int):
    services = build()
    await run(services, "Where is the parser?", Fixed(score), session_id="s")
    rows = await services.store.vectors.load(POLICIES, "hashing-32", 10)
    assert [row.session_id for row in rows] == ["s"] * kept
    assert services.learning.embedder is not None
    assert services.learning.policies is not None
    (vector,) = await services.learning.embedder.embed(["where is the parser"])
    found = await services.learning.policies.lookup(vector)
    assert [(each.tier, each.model, each.quality) for each in found] == [("premium", "function/function", 0.8)] * kept


async def test_no_model_is_asked_for_an_embedding():
    class Remote:
        name, dimensions = "remote", 1

        async def embed(self, texts: Any) -> Any:
            raise ProviderUnavailable("a turn must not wait for this")

    services = build(embedder=CachingEmbedder(Remote()))
    await run(services, "Where is the parser?", Fixed(0.9))
    assert await services.store.vectors.count(POLICIES) == 0
    assert len(await services.store.trajectories.list()) == 1


@table(
    ("settings", "text"),
    [
        ({"Learning": {"Enabled": False}}, "hello"),
        ({"Budget": {"Turn": {"Tokens": 1}}}, "hello"),
    ],
)
async def test_a_turn_without_an_answer_and_one_that_may_not_leave_nothing(settings: dict[str, Any], text: str):
    services = build(settings)
    ctx = await run(services, text)
    assert ctx.get(SCORE) is None
    assert await services.store.trajectories.list() == []


async def test_the_latest_judgement_of_a_message_and_tier_counts():
    services = build()
    assert services.learning.embedder is not None
    assert services.learning.policies is not None
    (vector,) = await services.learning.embedder.embed(["Where is the parser?"])
    for score, is_poor in ((0.9, False), (0.5, True), (0.7, True), (0.9, False)):  # 0.7 is neither good nor poor
        await run(services, "Where is the parser?", Fixed(score))
        [found] = await services.learning.policies.lookup(vector)
        assert found.is_poor == is_poor
        assert await services.store.vectors.count(POLICIES) == 1


async def test_a_turn_off_the_record_leaves_nothing():
    services = build()
    services.learning = replace(services.learning, is_enabled=False)
    ctx = await run(services, "hello")
    assert ctx.get(SCORE) is None
    assert await services.store.trajectories.list() == []
    assert await services.store.vectors.count(POLICIES) == 0


async def test_steps_of_a_plan_are_no_turns():
    services = build()
    parent = services.turn("hello")
    child = parent.child("a step", Step("a"))
    await chain(services).run(child)
    assert await services.store.trajectories.list() == []


async def test_what_cannot_be_kept_costs_the_turn_nothing(caplog: pytest.LogCaptureFixture):
    services = build()

    class Refusing:
        async def add(self, writes: Any) -> None:
            raise StoreError("memory://", "no")

    services.store.trajectories = Refusing()  # type: ignore[misc, assignment]
    ctx = await run(services, "hello")
    assert ctx.response is not None
    assert ctx.response.finish_reason == "stop"
    assert "could teach was not kept" in caplog.text


@table(
    ("settings", "is_added"),
    [
        ({}, False),
        ({"Learning": {"Enabled": True}}, True),
        ({"Routing": {"Strategy": "Intelligent"}}, True),
        ({"Routing": {"TaskTypes": {"research": {"Strategy": "CostAware"}}}}, True),
        ({"Routing": {"Strategy": "Tiered"}}, False),
        ({"Routing": {"Strategy": "Intelligent"}, "Learning": {"Enabled": False}}, False),
    ],
)
def test_learning_is_added_where_the_settings_or_routing_want_it(settings: dict[str, Any], is_added: bool):
    services = build(settings=settings)
    added = find_additions(twelve(services), services)
    assert ({"Learning", "Scoring"} <= added.keys()) == is_added


def test_a_chain_that_has_learning_and_one_that_stores_nothing_stay_as_they_are():
    learning = [Learning(), Scoring()]
    added = place(twelve(build()), learning)
    assert [type(each).__name__ for each in added][1:3] == ["Learning", "Scoring"]
    assert place(added, learning) is added
    fragment = Pipeline.compose(*list(twelve(build()))[1:])
    assert place(fragment, learning) is fragment


@table("wrong", [lambda: [Scoring(), Learning()], lambda: [Learning()]])
def test_learning_stands_around_scoring(wrong: Any):
    rest = list(twelve(build()))[1:]
    with pytest.raises(CompositionError, match="Learning"):
        Pipeline.compose(SessionEvents(), *wrong(), *rest)
