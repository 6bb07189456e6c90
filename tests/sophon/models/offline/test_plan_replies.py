"""Plans, votes, steps and the synthesis, against the prompts of sophon.plans."""

import orjson
import pytest

from sophon.messages import Message
from sophon.models.offline.reply_builder import parse_synthesis_prompt
from sophon.models.offline.transcript import split_step_prompt
from sophon.plans import parse_plan, parse_vote, plan_prompt, reask_prompt, step_prompt, synthesis_prompt, vote_prompt
from sophon.plans.plan import PlanStep
from sophon.plans.step_progress import PlanProgress
from sophon.tools.tool import Risk
from sophon.tools.untrusted_text import fence_text

CATS = (
    "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both "
    "in three steps"
)


async def plan_for(talk, text: str):
    talk.messages = [Message("system", plan_prompt(talk.tools, 20)), Message("user", text)]
    answer = (await talk.ask("plan", tools=[])).text
    return parse_plan(answer, plan_id="plan_1", tools=[tool.name for tool in talk.tools])


async def test_the_clauses_become_steps_with_their_tools_and_risks(talk) -> None:
    plan = await plan_for(talk, CATS)
    assert plan.goal == CATS
    write, look_up, summarise = plan.steps
    assert (write.tool_hints, write.estimated_risk) == (("memory.write",), Risk.MEDIUM)
    assert (look_up.tool_hints, look_up.estimated_risk) == (("memory.search",), Risk.NONE)
    assert (summarise.tool_hints, summarise.estimated_risk) == ((), Risk.LOW)
    assert summarise.depends_on == (write.id, look_up.id)
    assert look_up.depends_on == (write.id,)


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("1. Fetch https://a.org 2. What is 2 + 2? 3. Tell me the time", [[], [], []]),
        ("1. Fetch https://a.org 2. Write the result to a.txt 3. Tell me the time", [[], ["step1"], []]),
        ("Write hello to a.txt, what is 2 + 2 and read a.txt", [[], [], ["step1"]]),
        ("Read a.txt and then fetch https://a.org. Compare both.", [[], ["step1"], ["step1", "step2"]]),
        ("Send a mail to Ada, book a table and report", [[], [], ["step1", "step2"]]),
    ],
)
async def test_a_step_depends_on_what_it_speaks_of_and_on_nothing_else(talk, text, needs) -> None:
    plan = await plan_for(talk, text)
    assert [list(step.depends_on) for step in plan.steps] == needs


async def test_a_step_that_forgets_carries_the_risk_of_forgetting(talk) -> None:
    (step,) = (await plan_for(talk, "Forget that I like tea")).steps
    assert step.tool_hints == ("memory.search", "memory.forget")
    assert step.estimated_risk is Risk.HIGH


async def test_a_tool_that_is_not_listed_is_not_hinted(talk, desk) -> None:
    talk.tools = desk.only("datetime.now")
    plan = await plan_for(talk, "Run the command: ls, then tell me the time")
    assert [step.tool_hints for step in plan.steps] == [(), ("datetime.now",)]


async def test_asked_again_it_still_plans_the_request_itself(talk) -> None:
    await plan_for(talk, CATS)
    talk.messages += [Message("assistant", "?"), Message("user", reask_prompt(["unknown tool"]))]
    assert orjson.loads((await talk.ask("plan")).text)["goal"] == CATS


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        (CATS, True),
        ("What is 2 + 2?", False),
        ("What is 2 + 2, and what day is it?", False),
        ("Read a and then b", True),
    ],
)
async def test_it_votes_for_a_plan_when_one_thing_follows_another(talk, text, needed) -> None:
    talk.messages.append(Message("user", vote_prompt(text)))
    assert parse_vote((await talk.ask("vote")).text) is needed


async def test_a_step_is_carried_out_with_tools(talk, desk) -> None:
    step = PlanStep("step1", "Write down that my cat is called Ada")
    answer = await talk.say(step_prompt(step, {}), purpose="step")
    assert list(desk.memory.values()) == ["My cat is called Ada"]
    assert answer == "I wrote down: your cat is called Ada."


async def test_a_step_without_tools_works_on_the_results_before_it(talk) -> None:
    step = PlanStep("step3", "Summarise both in three steps", ("step1", "step2"))
    prompt = step_prompt(step, {"step1": "I wrote down: your cat is called Ada.", "step2": "Ada is grey."}, "it broke")
    answer = await talk.say(prompt, purpose="step")
    assert talk.rounds == []
    lines = answer.splitlines()
    assert lines[:2] == ["1. I wrote down: your cat is called Ada.", "2. Ada is grey."]
    assert lines[2].startswith("3. ")
    assert len(lines) == 3


async def test_a_step_can_write_what_the_step_before_it_found(talk, desk) -> None:
    step = PlanStep("step2", "Write the result to a.txt", ("step1",))
    await talk.say(step_prompt(step, {"step1": "6 * 7 = 42."}), purpose="step")
    assert desk.files == {"a.txt": "6 * 7 = 42."}


def test_a_step_s_prompt_is_read_back_in_its_parts() -> None:
    prompt = step_prompt(PlanStep("c", "Do it\n\nwell"), {"a": "one\n\ntwo", "b": "three"}, "no")
    assert split_step_prompt(prompt) == ("Do it\n\nwell", ["one\n\ntwo", "three"])


def test_a_result_that_a_goal_has_fenced_is_used_without_its_fence() -> None:
    fenced = fence_text("6 * 7 = 42 <b>", "result of a", "0123456789abcdef")
    assert split_step_prompt(step_prompt(PlanStep("c", "Write it"), {"a": fenced})) == ("Write it", ["6 * 7 = 42 <b>"])


def finished(statuses: dict[str, tuple[str, str, str]]) -> PlanProgress:
    steps = [{"id": key, "description": what} for key, (what, _, _) in statuses.items()]
    progress = PlanProgress(parse_plan(orjson.dumps({"goal": "g", "steps": steps}).decode(), plan_id="p"))
    for key, (_, status, text) in statuses.items():
        progress.start(key)
        if status == "completed":
            progress.complete(key, text)
        else:
            progress.fail(key, text)
    return progress


async def test_the_synthesis_answers_with_the_step_that_sums_up(talk) -> None:
    progress = finished(
        {"a": ("Read it", "completed", "Grey."), "b": ("Summarise both", "completed", "1. Grey.\n2. Small.")}
    )
    answer = await talk.say(synthesis_prompt(progress))
    assert answer.startswith("1. Grey.\n2. Small.")
    assert answer.count("offline model") == 1


async def test_the_synthesis_tells_every_result_and_what_failed(talk) -> None:
    progress = finished({"a": ("What is 2+2", "completed", "4."), "b": ("Fetch my page", "failed", "no route")})
    talk.messages.append(Message("user", "Do both"))
    answer = await talk.say(synthesis_prompt(progress))
    assert answer.startswith("4.")
    assert "“Fetch your page” is not done (failed): no route." in answer


def test_the_synthesis_prompt_is_read_back_in_its_steps() -> None:
    steps = parse_synthesis_prompt(
        synthesis_prompt(finished({"a": ("One (1)", "completed", "x\n\ny"), "b": ("Two", "failed", "z")}))
    )
    assert [(s.description, s.status, s.text) for s in steps] == [
        ("One (1)", "completed", "x\n\ny"),
        ("Two", "failed", "z"),
    ]


async def test_without_a_plan_the_same_request_is_done_in_order(talk, desk) -> None:
    answer = await talk.say(CATS)
    assert [[call.name for call in calls] for calls in talk.rounds] == [["memory.write"], ["memory.search"]]
    assert "your cat is called Ada" in answer
    assert "3. " in answer
