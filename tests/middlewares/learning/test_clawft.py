"""The chain `clawft`: its stages run for each model call in the published order, over the conversations of `twelve`."""

from collections.abc import Sequence
from typing import Any

import pytest

from sophon import Decision, ModelRequest, ModelResponse, Pipeline, Services, ToolCall, tool
from sophon.errors import CompositionError
from sophon.events import Event, RouteChosen, StageCompleted
from sophon.learning.contract import ScoredTurn
from sophon.learning.fitness import Fitness
from sophon.risk import Risk
from sophon.routing.context_keys import ROUTE
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_middlewares import AgenticLoop, CapabilityRouting, LlmInvoker, ToolExecution
from sophon_middlewares.chains import CHAINS, clawft, twelve
from sophon_middlewares.chains.additions import find_additions, find_guards
from sophon_middlewares.learning.scoring import Scoring
from sophon_middlewares.skills.skills import Skills
from tests.gate import Gate
from tests.tables import table

STAGES = ["classifier", "router", "assembler", "transport", "scorer", "learner"]
SETTINGS = {"Planning": {"Mode": "Never"}}


@tool(tags=("look",))
async def look(what: str) -> str:
    """Look at something."""
    if what == "nothing":
        raise ValueError("there is nothing")
    return f"saw {what}"


@tool(risk=Risk.HIGH, tags=("look",))
async def launch() -> str:
    """Launch it."""
    return "off it goes"


async def answer(request: ModelRequest) -> ModelResponse:
    """Look at each thing in turn, one model call for each, then answer with what was seen."""
    asked = max(index for index, each in enumerate(request.messages) if each.role == "user")
    seen = [each.content for each in request.messages[asked:] if each.role == "tool"]
    things = request.messages[asked].content.split()
    if things[0] == "launch" and not seen:
        return ModelResponse("", [ToolCall("c1", "launch")])
    if things[0] == "look" and len(seen) < len(things) - 1:
        return ModelResponse("", [ToolCall(f"c{len(seen)}", "look", {"what": things[len(seen) + 1]})])
    return ModelResponse(f"The answer to {' '.join(things)}: {'; '.join(seen)}.")


def build(events: EventRecorder | None = None, **options: Any) -> Services:
    settings = SETTINGS | options.pop("settings", {})
    model = options.pop("models", FunctionModel(answer))
    return Services(
        models=model, tools=[look, launch], clock=VirtualClock(), events=events, settings=settings, **options
    )


def stages_of(events: Sequence[Event]) -> list[str]:
    return [
        "router" if isinstance(each, RouteChosen) else each.stage
        for each in events
        if isinstance(each, RouteChosen | StageCompleted)
    ]


@table(
    "texts",
    [
        ["hello there"],
        ["look apple", "and the next"],
        ["look apple nothing pear", "hello"],
        ["launch", "hello"],
    ],
)
async def test_the_conversations_of_twelve_go_alike_with_the_six_stages_for_each_model_call(texts: list[str]) -> None:
    told: list[list[Any]] = []
    for compose in (twelve, clawft):
        events = EventRecorder()
        services = build(events, approvals=Gate(Decision.approve()))
        for text in texts:
            response = await compose(services).run(services.turn(text, session_id="s"))
        history = await services.history("s")
        told.append([[(each.role, each.content) for each in history], response.text, response.finish_reason])
        calls = sum(each.role == "assistant" for each in history)
        assert stages_of(events.events) == (STAGES * calls if compose is clawft else [])
    assert told[0] == told[1]


async def test_a_turn_that_waits_for_a_person_goes_on_where_it_stopped() -> None:
    events = EventRecorder()
    services = build(events, approvals=Gate.suspending())
    ctx = services.turn("launch")
    pipeline = clawft(services)
    assert (await pipeline.run(ctx)).finish_reason == "suspended"
    assert await services.store.trajectories.list() == []
    restored = services.restore(ctx.state())
    assert "off it goes" in (await pipeline.run(restored)).text
    assert stages_of(events.events) == STAGES * 2
    [kept] = await services.store.trajectories.list()
    assert (kept.task_type, kept.strategy, kept.tools) == ("chat", "Priority", ("launch",))


async def test_a_reply_that_asks_for_tools_is_neither_scored_nor_kept_and_the_answer_is() -> None:
    events = EventRecorder()
    services = build(events)
    await clawft(services).run(services.turn("look apple"))
    by_stage = {stage: [each.data for each in events.of(StageCompleted) if each.stage == stage] for stage in STAGES}
    assert by_stage["scorer"] == [{}, {"judge": "form"}]  # no fault, no opinion
    assert [each["kept"] for each in by_stage["learner"]] == [False, True]
    assert [each["tool_calls"] for each in by_stage["transport"]] == [1, 0]
    assert len(await services.store.trajectories.list()) == 1


@table(("compose", "kept"), [(clawft, 1), (twelve, 0)])
async def test_without_a_setting_it_keeps_averages_and_a_trajectory_and_twelve_does_not(
    compose: Any, kept: int
) -> None:
    services = Services(models=FunctionModel(answer), clock=VirtualClock())
    await compose(services).run(services.turn("hello there"))
    averages = await services.store.route_averages.list_all()
    assert [(each.model, each.calls, each.scored) for each in averages] == [("function/function", 1, 0)] * kept
    assert [each.quality for each in await services.store.trajectories.list()] == [None] * kept


async def test_each_model_call_is_routed_anew() -> None:
    models = [FunctionModel(answer, name=name) for name in ("one", "two")]
    routing = {"Strategy": "Tiered", "Selection": "RoundRobin", "Tiers": [{"Name": "all", "Models": ["one", "two"]}]}
    events = EventRecorder()
    services = build(events, models=models, settings={"Routing": routing})
    ctx = services.turn("look apple pear")
    await clawft(services).run(ctx)
    assert [each.model.split("/")[1] for each in events.of(RouteChosen)] == ["one", "two", "one"]
    route = ctx.get(ROUTE)
    assert route is not None
    assert route.model.endswith("one")


def test_explain_names_the_published_stages_at_each_model_call_and_judges_outside_of_the_judged() -> None:
    lines = clawft(Services()).explain().splitlines()
    found = [(line.split()[3:5], line) for line in lines for stage in STAGES if f" {stage}: " in line]
    assert len(found) == len(STAGES)
    assert all(when == ["model", "call"] for when, _ in found)
    order = [stage for line in lines for stage in STAGES if f" {stage}: " in line]
    # What acts on the way out stands in front: the learner outside of the scorer, both outside of what they judge.
    assert order == ["learner", "scorer", "classifier", "router", "assembler", "transport"]
    assert CHAINS["clawft"] is clawft


def test_guards_and_skills_of_the_settings_stand_in_front_of_its_tools() -> None:
    names = ("Authorization", "RateLimit", "Protection", "InformationFlow", "Shield", "Integrity", "Audit", "Redaction")
    settings = Services(settings={"Guards": {name: {"Enabled": True} for name in names}}).settings
    chain = clawft(Services(), {**find_guards(settings.guards), "Skills": Skills()})
    last_guarded = next(index for index, each in enumerate(chain) if isinstance(each, ToolExecution))
    assert {"Audit", "Redaction", "Shield", "Skills"} <= {type(each).__name__ for each in chain[:last_guarded]}


def test_a_stage_of_a_turn_may_stand_behind_the_tools_and_nowhere_else_in_the_loop() -> None:
    Pipeline.compose(AgenticLoop(), ToolExecution(), CapabilityRouting(), LlmInvoker())
    with pytest.raises(CompositionError, match="CapabilityRouting runs once per turn"):
        Pipeline.compose(AgenticLoop(), CapabilityRouting(), ToolExecution(), LlmInvoker())


async def repeat(request: ModelRequest) -> ModelResponse:
    if not request.tools:
        return ModelResponse("I have seen the apple.")
    return ModelResponse("", [ToolCall(f"c{len(request.messages)}", "look", {"what": "apple"})])


@table("compose", [twelve, clawft])
@table(("rounds", "reason"), [(2, "max_iterations"), (50, "loop_detected")])
async def test_a_turn_that_ended_in_a_loop_is_kept_once_and_routing_observes_the_same_score(
    compose: Any, rounds: int, reason: str
) -> None:
    class Strict:
        def score(self, turn: ScoredTurn) -> Fitness:
            value = 0.9 if turn.finish_reason == "stop" else 0.25
            return Fitness(value, value, value, value, value)

    routing = {"Strategy": "CostAware", "Tiers": [{"Name": "all", "Models": ["function"]}]}
    services = build(models=FunctionModel(repeat), settings={"Routing": routing})
    chain = compose(services, find_additions(compose(services), services))
    judged = Pipeline.compose(*(Scoring(scorer=Strict()) if isinstance(each, Scoring) else each for each in chain))
    response = await judged.run(services.turn("look apple", max_iterations=rounds))
    assert response.finish_reason == reason
    [kept] = await services.store.trajectories.list()
    assert (kept.finish_reason, kept.quality) == (reason, 0.25)
    [average] = await services.store.route_averages.list_all()
    assert (average.quality, average.scored) == (0.25, 1)
