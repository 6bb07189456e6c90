"""Plans of goals are asked through the model hooks of the host's chains."""

import json

from sophon import ModelRequest, Pipeline, Services
from sophon.context import Context
from sophon.messages import Message, Response
from sophon.security import KNOWN_SECRETS
from sophon.testing import FunctionModel
from sophon.turn.task_type_chains import PipelineRegistry
from sophon_hosting.host_chain import place_model_hooks
from sophon_middlewares import LlmInvoker, MaskPersonalData
from sophon_middlewares.chains import twelve
from tests.hosting.features.goals.conftest import World, plan, step

ADDRESS = "ada@example.com"
KEY = "correct-horse-battery"


async def ask_for_plan(ctx: Context, next: object) -> None:
    request = ctx.request([Message("user", f"plan a mail to {ADDRESS}")], purpose="plan")
    ctx.response = Response((await ctx.complete(request)).text)


async def test_a_chain_of_the_hosts_own_has_the_hooks_of_every_chain_of_its_turns() -> None:
    async def answer(request: ModelRequest) -> str:
        return request.messages[-1].content

    model = FunctionModel(answer)
    services = Services(models=model)
    own, plain = Pipeline.compose(ask_for_plan), twelve(services)
    masked = Pipeline.compose(MaskPersonalData(), LlmInvoker())

    for pipelines in (PipelineRegistry(masked), PipelineRegistry(plain, {"chat": masked})):
        chain = place_model_hooks(own, pipelines)
        assert (await chain.run(services.turn("plan"))).text == f"plan a mail to {ADDRESS}"
    assert [each.messages[-1].content for each in model.requests] == ["plan a mail to [EMAIL_1]"] * 2
    assert place_model_hooks(own, PipelineRegistry(plain)) is own


async def test_a_goal_is_planned_reviewed_worked_on_and_reported_without_a_value(world: World) -> None:
    def build(services: Services) -> Pipeline:
        record, *others = twelve(services)
        return Pipeline.compose(record, MaskPersonalData(), *others)

    world.build_chain = build
    world.settings["Goals"] = {"Review": True}
    world.plans = [plan(step("a", "note", text="to [EMAIL_1]"), step("b", needs=["a"]))]
    await world.start()
    goal = await world.create(title=f"Mail to {ADDRESS}", description=f"Write to {ADDRESS}")
    done = await world.ended(goal)
    await world.until(goal, lambda found: found.reported)

    assert world.kept == [f"to {ADDRESS}"]
    assert done.state == "completed"
    assert [each.purpose for each in world.asked][:3] == ["plan", "plan", "reply"]
    assert not any(ADDRESS in json.dumps([m.to_json() for m in each.messages]) for each in world.asked)


async def test_a_goal_is_planned_and_reviewed_without_a_secret_of_the_settings(world: World) -> None:
    before = KNOWN_SECRETS.values
    KNOWN_SECRETS.add(KEY)
    world.guards = True
    world.settings["Goals"] = {"Review": True}
    world.plans = [plan(step("a", "note", text="done"), step("b", needs=["a"]))]
    await world.start()
    goal = await world.create(title=f"Log in with {KEY}", description=f"Use {KEY}")
    await world.ended(goal)
    await world.until(goal, lambda found: found.reported)
    KNOWN_SECRETS.restore(before)

    assert [each.purpose for each in world.asked][:3] == ["plan", "plan", "reply"]
    assert not any(KEY in json.dumps([m.to_json() for m in each.messages]) for each in world.asked)
