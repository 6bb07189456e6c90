"""When a turn gets a plan, and what becomes of one that cannot be run."""

import pytest

from sophon import Context, Message, ModelRequest, Next, Services
from sophon.errors import AuthenticationFailed, BadRequest
from sophon.events import AgentStatus, PlanProposed
from sophon.models.gateway.provider import Provider
from sophon.testing import FunctionModel, ScriptedModel
from sophon_middlewares.chains import twelve
from sophon_middlewares.outer.planning.planning import recent_conversation
from tests.tables import table

PLAIN = "What is the time?"
COMPLEX = "First do one thing, then do another: all the steps"


@pytest.mark.parametrize(
    ("mode", "text", "planned"),
    [
        ("Auto", COMPLEX, True),
        ("Auto", PLAIN, False),
        ("Always", PLAIN, True),
        ("Never", COMPLEX, False),
    ],
)
async def test_the_mode_and_the_score_decide(stage, plan, mode, text, planned):
    s = stage(plans=[plan(a="", b="")], settings={"Planning": {"Mode": mode, "MaxDepth": 1}})
    await s.run(text)
    assert len(s.asked("plan")) == planned
    assert len(s.events.of(PlanProposed)) == planned


async def test_the_senders_mode_wins_over_the_settings(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    await s.run(COMPLEX, planning="Never")
    assert [request.purpose for request in s.model.requests] == ["reply"]


@pytest.mark.parametrize(
    ("vote", "text", "planned"),
    [
        ("Yes.", PLAIN, True),
        ("no", COMPLEX, False),
        ("perhaps", COMPLEX, True),
        ("perhaps", PLAIN, False),
        (BadRequest("no votes here"), COMPLEX, True),
        (BadRequest("no votes here"), PLAIN, False),
    ],
)
async def test_the_model_votes_and_the_score_speaks_where_the_vote_does_not(stage, plan, vote, text, planned):
    s = stage(plans=[plan(a="", b="")], votes=[vote], settings={"Planning": {"MaxDepth": 1}})
    await s.run(text, planning="LlmDecides")
    assert len(s.asked("plan")) == planned


async def test_a_vote_is_three_tokens_at_temperature_zero_about_the_request(stage):
    s = stage(votes=["no"])
    await s.run(COMPLEX, planning="LlmDecides")
    (vote,) = s.asked("vote")
    assert (vote.max_tokens, vote.temperature, vote.tools) == (3, 0.0, ())
    assert COMPLEX in vote.messages[-1].content


async def test_a_step_may_plan_again_until_three_levels_are_planned(stage, plan):
    s = stage(plans=[plan(a="", b="")], settings={"Planning": {"Mode": "Always"}})
    await s.run(PLAIN)
    depths = {event.run_id.count("/") for event in s.events.of(PlanProposed)}
    assert depths == {0, 1, 2}
    assert len(s.asked("plan")) == 1 + 2 + 4


async def test_what_the_sender_chose_holds_for_the_message_and_not_for_the_steps_of_its_plan(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    await s.run(PLAIN, planning="Always")
    assert len(s.asked("plan")) == 1


async def test_a_step_is_judged_by_its_own_words_and_not_by_the_results_it_is_given(stage, plan):
    s = stage(plans=[plan(a="", b="a")], work={"do a": ["first search, and then write: a plan in three steps"]})
    await s.run()
    assert "a plan in three steps" in s.prompts("step")[1]
    assert len(s.asked("plan")) == 1


async def test_a_step_that_reads_like_several_is_planned_itself(stage, plan):
    several = {"depends_on": [], "description": "first read it and then write it"}
    s = stage(plans=[plan(a=several, b=""), plan(c="", d="")])
    await s.run()
    assert [event.run_id.count("/") for event in s.events.of(PlanProposed)] == [0, 1]
    assert "Break the user's request" in s.asked("plan")[1].messages[0].content
    assert s.prompts("plan")[1] == "first read it and then write it"


async def test_a_turn_that_may_use_no_tools_is_not_planned(stage):
    async def without_tools(ctx: Context, next: Next) -> None:
        ctx.tools_allowed = False
        await next(ctx)

    s = stage(before=[without_tools])
    await s.run(COMPLEX)
    assert [request.purpose for request in s.model.requests] == ["reply"]


async def test_a_plan_of_one_step_is_no_plan(stage, plan):
    s = stage(plans=[plan(a="")])
    response = await s.run()
    assert response.text == "the answer"
    assert [request.purpose for request in s.model.requests] == ["plan", "reply"]
    assert not s.events.of(PlanProposed)


BAD = {
    "dependency": ('{"goal": "g", "steps": [{"id": "a", "description": "x", "depends_on": ["z"]}]}', "no step"),
    "no JSON": ("I would rather not", "no JSON object"),
}


@pytest.mark.parametrize(("answer", "problem"), BAD.values(), ids=BAD)
async def test_a_plan_that_cannot_be_run_is_asked_for_once_more_with_what_is_wrong(stage, plan, answer, problem):
    s = stage(plans=[answer, plan(a="", b="")])
    await s.run()
    first, second = s.asked("plan")
    assert [message.role for message in second.messages[len(first.messages) :]] == ["assistant", "user"]
    assert problem in second.messages[-1].content
    assert s.steps("completed") == ["a", "b"]


@pytest.mark.parametrize(("answer", "problem"), BAD.values(), ids=BAD)
async def test_a_second_bad_plan_leads_to_the_flat_loop(stage, answer, problem):
    s = stage(plans=[answer])
    response = await s.run()
    assert response.text == "the answer"
    assert [request.purpose for request in s.model.requests] == ["plan", "plan", "reply"]
    assert not s.events.of(PlanProposed)
    assert not s.steps()


async def test_a_plan_call_that_fails_leads_to_the_flat_loop(stage):
    s = stage(plans=[BadRequest("no plans here")])
    response = await s.run()
    assert (response.text, response.finish_reason) == ("the answer", "stop")


async def test_the_number_of_steps_is_a_setting(stage, plan):
    s = stage(plans=[plan(a="", b="", c="")], settings={"AgentExecution": {"PlanMaxSteps": 2}})
    await s.run()
    assert "at most 2" in s.prompts("plan")[1]
    assert "At most 2 steps" in s.asked("plan")[0].messages[0].content


async def test_whoever_watches_sees_that_a_plan_is_made_and_then_the_plan(stage, plan):
    s = stage(plans=[plan(a="", b="a")])
    await s.run()
    status = next(event for event in s.events.events if isinstance(event, AgentStatus))
    (proposed,) = s.events.of(PlanProposed)
    assert status.status == "planning"
    assert proposed.plan["id"].startswith("plan_")
    assert [step["depends_on"] for step in proposed.plan["steps"]] == [[], ["a"]]


async def test_a_plan_call_knows_every_tool_and_is_given_none_to_call(stage, plan):
    s = stage(plans=[plan(a="", b="")], settings={"ToolFilter": {"Top": 2}})
    await s.run()
    (request,) = s.asked("plan")
    assert request.tools == ()
    for tool in s.services.registry:
        assert f"- {tool.name} (risk {tool.risk.label})" in request.messages[0].content


async def test_a_request_larger_than_the_window_is_left_to_whoever_makes_it_fit(stage, plan):
    s = stage(plans=[plan(a="", b="")])
    await s.run(f"{COMPLEX} {'word ' * 200_000}", planning="LlmDecides")
    assert [request.purpose for request in s.model.requests] == ["reply"]


def test_a_plan_call_is_shown_the_last_few_things_that_were_said():
    said = [Message("user" if n % 2 == 0 else "assistant", f"{n} " + "x" * 2000) for n in range(10)]
    said.insert(5, Message("tool", "a result", tool_call_id="1"))
    shown = recent_conversation(said)
    assert [message.content[0] for message in shown] == ["4", "5", "6", "7", "8", "9"]
    assert all(len(message.content) <= 1000 for message in shown)


def test_what_a_plan_call_is_shown_begins_with_the_person():
    said = [Message("user", "a")] + [Message("assistant", "b")] * 6
    assert recent_conversation(said) == []


@table(
    ("chosen", "capabilities", "asked"),
    [
        (None, ("fast",), "small"),
        (None, ("F-A-S-T",), "small"),
        (None, (), "large"),
        ("large", ("fast",), "large"),
        ("small", ("fast",), "small"),
    ],
)
async def test_a_vote_goes_to_a_fast_model_where_there_is_one_and_the_sender_chose_none(chosen, capabilities, asked):
    calls: list[tuple[str, str]] = []

    def model(name: str, *capabilities: str) -> FunctionModel:
        async def answer(request: ModelRequest) -> str:
            calls.append((request.purpose, name))
            return "no"

        return FunctionModel(answer, name=name, capabilities=capabilities)

    services = Services(models=[Provider("a", [model("large")], 1), Provider("b", [model("small", *capabilities)], 2)])
    await twelve(services).run(services.turn(COMPLEX, planning="LlmDecides", model=chosen))
    assert calls == [("vote", asked), ("reply", chosen or "large")]


async def test_a_fast_model_that_fails_leaves_the_vote_to_the_turns_own_model():
    async def answer(request: ModelRequest) -> str:
        return "no"

    large, small = (
        FunctionModel(answer, name="large"),
        ScriptedModel([AuthenticationFailed("no")], capabilities={"fast"}),
    )
    services = Services(models=[Provider("a", [large], 1), Provider("b", [small], 2)])
    await twelve(services).run(services.turn(COMPLEX, planning="LlmDecides"))
    assert [request.purpose for request in large.requests] == ["vote", "reply"]
