"""Chain defaults: constants of a chain where the host has set none."""

import itertools

from sophon import Context, Next, Pipeline, Response, Services
from sophon.context import Step
from sophon.settings import Settings
from sophon_middlewares.chains.published_constants import DEFAULTS as CONSTANTS
from sophon_middlewares.stages.chain_defaults import ChainDefaults, complete_settings

DEFAULTS = {"tools": {"max_parallel": 3}, "budget": {"turn": {"tool_calls": 7}}}


def complete(**values: object) -> Settings:
    return complete_settings(Settings.from_mapping(values), DEFAULTS)


def test_what_is_not_set_has_the_values_of_the_chain() -> None:
    found = complete(Tools={"MaxResultCharacters": 500})
    assert (found.tools.max_parallel, found.budget.turn.tool_calls) == (3, 7)
    assert found.tools.max_result_characters == 500


def test_what_is_set_stays_also_if_it_is_the_usual_default() -> None:
    usual = Settings().tools.max_parallel
    assert complete(Tools={"MaxParallel": usual}).tools.max_parallel == usual


def test_completed_settings_are_complete() -> None:
    found = complete()
    assert complete_settings(found, DEFAULTS) is found


def test_another_chain_has_its_own_constants_and_none_of_the_first() -> None:
    written = Settings.from_mapping({"Tools": {"MaxResultCharacters": 500}, "Approval": {"Autonomy": "Full"}})
    for first, second in itertools.permutations(CONSTANTS.values(), 2):
        other = complete_settings(complete_settings(written, first), second)
        assert other == complete_settings(written, second)


async def test_a_turn_has_them_and_the_services_of_the_host_do_not() -> None:
    seen: list[int] = []

    async def look(ctx: Context, next: Next) -> None:
        seen.append(ctx.services.settings.tools.max_parallel)
        seen.append(ctx.child("step", Step("a")).settings.tools.max_parallel)
        ctx.response = Response("fine")

    services = Services()
    await Pipeline.compose(ChainDefaults(DEFAULTS), look).run(services.turn("hi"))
    assert seen == [3, 3]
    assert services.settings.tools.max_parallel == Settings().tools.max_parallel
