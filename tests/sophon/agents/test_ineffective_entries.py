"""Names that refer to nothing are named; those that do not, are not."""

from pathlib import Path

from sophon.agents import AgentDefinition, AgentSet
from sophon.agents.ineffective_entries import find_reference_problems
from sophon.settings import Settings


def agent(name: str, *channels: str, tools: tuple[str, ...] | None = None) -> AgentDefinition:
    return AgentDefinition(name, "Works.", Path(f"{name}.md"), "Work.", channels=channels, tools=tools)


def find(channels: dict[str, str], *agents: AgentDefinition, disabled: tuple[str, ...] = ()) -> list[str]:
    settings = Settings.from_mapping({"Agents": {"Channels": channels}})
    return [*find_reference_problems(settings.agents, AgentSet({each.name: each for each in agents}), disabled)]


def test_an_agent_that_there_is_not_is_named_with_the_nearest() -> None:
    [problem] = find({"telegram": "writr", "whatsapp": "main"}, agent("writer"))
    assert problem.startswith("Agents.Channels.telegram: there is no agent 'writr'")
    assert "writer" in problem


def test_a_place_that_two_agents_claim_is_named_unless_the_settings_decide() -> None:
    both = (agent("ann", "telegram"), agent("bob", "telegram"))
    [problem] = find({}, *both)
    assert problem == "bob.md: the messages of 'telegram' go to 'ann', whose name comes first"
    assert find({"telegram": "bob"}, *both) == []


def test_an_agent_with_disabled_tools_alone_is_named() -> None:
    ann = agent("ann", tools=("files.read",))
    assert find({}, ann) == []
    assert find({}, ann, disabled=("files.read",)) == ["ann.md: all of its tools are in Tools.Disabled"]
