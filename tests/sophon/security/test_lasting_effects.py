"""Which tools have lasting effects, and the sentence for the person who is asked."""

from sophon import Risk, tool
from sophon.builtin_tools import builtin_tools
from sophon.builtin_tools.agents import agent_tools
from sophon.builtin_tools.custom_tool_management import custom_tool_tools
from sophon.builtin_tools.questions import chat_ask
from sophon.builtin_tools.skills import skill_tools
from sophon.builtin_tools.variables import variable_tools
from sophon.security.action_types import LASTING_ACTIONS, explain_lasting_effect, has_lasting_effect
from sophon_hosting.features.goals.tools import goal_tools
from sophon_hosting.features.schedules.tools import schedule_tools
from tests.tables import table

LASTING = {
    *("memory.write", "memory.forget"),
    *("schedules.add", "schedules.remove", "schedules.pause", "schedules.resume"),
    *("goals.create", "goals.pause", "goals.resume", "goals.cancel"),
    *("tools.create", "tools.update", "tools.enable", "tools.disable", "tools.delete"),
}

WITHOUT = {
    # They read, or compute.
    *("datetime.now", "calculator", "memory.search", "memory.read", "memory.graph", "files.read", "files.list"),
    *("schedules.list", "goals.list", "goals.show", "tools.list", "agents.list", "read_skill_file", "skills.list"),
    # What they change ends with the turn.
    *("load_tools", "load_skills", "variables.set", "agents.run", "agents.cancel", "chat.ask"),
    # Their effects are for Protection, the policy and the risk of the call to judge.
    *("files.write", "system.execute", "http.request", "http.send"),
}


def test_each_tool_of_the_product_is_known_to_have_a_lasting_effect_or_none() -> None:
    optional = (agent_tools, custom_tool_tools, goal_tools, schedule_tools, skill_tools, variable_tools)
    tools = [*builtin_tools(), chat_ask, *(each for group in optional for each in group())]
    lasting = {each.name for each in tools if has_lasting_effect(each.name, each.lasting)}
    assert lasting == LASTING
    assert {each.name for each in tools} - lasting == WITHOUT


@table("name", ["memory.write", "memory.forget", *sorted(LASTING_ACTIONS)])
def test_a_tool_that_declares_nothing_is_judged_by_its_action_type(name: str) -> None:
    assert has_lasting_effect(name, None)
    assert not has_lasting_effect(name, declared=False)


def test_a_tool_of_ones_own_declares_it() -> None:
    @tool(risk=Risk.LOW, lasting=True)
    async def set_rule(text: str) -> str:
        """Set a rule for all conversations."""
        return text

    assert has_lasting_effect(set_rule.name, set_rule.lasting)
    assert not has_lasting_effect(set_rule.name, None)


@table(
    ("sources", "end"),
    [(["a"], ": a"), (["a", "b", "c"], ": a, b, c"), (["a", "b", "c", "d", "e"], ": a, b, c and 2 more")],
)
def test_the_reason_names_what_was_read(sources: list[str], end: str) -> None:
    assert explain_lasting_effect(sources).endswith(end)
