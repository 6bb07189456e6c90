"""Definitions of agents: what a file may say, and how each mistake is named with its line."""

from pathlib import Path

from sophon.agents import parse_agent
from sophon.agents.definition import AgentDefinition, tool_matcher
from tests.tables import table

PATH = Path("agents/researcher.md")
HEADER = "name: researcher\ndescription: Finds things out."


def parse(
    header: str, body: str = "You find things out.", path: Path = PATH
) -> tuple[AgentDefinition | None, list[str]]:
    agent, problems = parse_agent(f"---\n{header}\n---\n{body}\n", path)
    return agent, [str(each) for each in problems]


def test_a_definition_with_every_key_is_read() -> None:
    agent, problems = parse(
        HEADER
        + "\nmodel: gpt-5-mini\nhint: fast\ntools: [files.*, http.request]\nskills: style\nmemory: agent\nchain: clawft"
        + '\nmax-rounds: 5\ntimeout: 1:30\ntemperature: 0.2\nchannels: telegram, "telegram:chat:-100"\n'
        + "patterns:\n- '\\bweather in \\w+'\n"
    )
    assert problems == []
    assert agent is not None
    assert (agent.model, agent.hint, agent.tools) == ("gpt-5-mini", "fast", ("files.*", "http.request"))
    assert (agent.skills, agent.memory, agent.chain) == (("style",), "agent", "clawft")
    assert (agent.max_rounds, agent.timeout_seconds, agent.temperature) == (5, 90.0, 0.2)
    assert agent.prompt == "You find things out."
    assert agent.matches("What is the WEATHER in Paris, today?")
    assert not agent.matches("weatherin")


def test_without_tools_an_agent_may_use_all_and_with_an_empty_list_none() -> None:
    everything, _ = parse(HEADER)
    nothing, _ = parse(f"{HEADER}\ntools: []")
    assert everything is not None
    assert nothing is not None
    assert (everything.tools, nothing.tools) == (None, ())


@table(
    ("header", "line", "says"),
    [
        ("description: x", 1, "a name is missing"),
        ("name: Researcher\ndescription: x", 2, "lower-case"),
        ("name: other\ndescription: x", 2, "must be that of its file, 'researcher'"),
        ("name: 5\ndescription: x", 2, "must be text"),
        ("name: researcher", 1, "a description is missing"),
        (f"{HEADER}\ntolls: [x]", 4, "the key 'tolls' is unknown"),
        (f"{HEADER}\ntools: 5", 4, "tools must be a list of names"),
        (f"{HEADER}\nmemory: all", 4, "must be one of owner, agent, none"),
        (f"{HEADER}\nmax-rounds: 0", 4, "from 1 to 500"),
        (f"{HEADER}\nmax-rounds: 1.5", 4, "whole number"),
        (f"{HEADER}\ntemperature: hot", 4, "from 0 to 2"),
        (f"{HEADER}\ntimeout: true", 4, "from 1 to 86400"),
        (f"{HEADER}\npatterns: ['(']", 4, "cannot be used"),
        (f"{HEADER}\npatterns: ['(?=a)']", 4, "cannot be used"),
        (f"{HEADER}\npatterns: 5", 4, "must be a list"),
        (f"{HEADER}\nname: researcher", 4, "occurs twice"),
        (f"{HEADER}\nmodel: [", 5, "not valid YAML"),
        ("- name", 2, "must be a mapping"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(header: str, line: int, says: str) -> None:
    agent, problems = parse(header)
    assert agent is None
    assert any(each.startswith(f"{PATH}:{line}: ") and says in each for each in problems), problems


def test_the_name_of_the_agent_without_a_file_is_taken() -> None:
    agent, problems = parse("name: main\ndescription: x", path=Path("main.md"))
    assert agent is None
    assert "the agent without a file" in problems[0]


def test_an_agent_needs_a_prompt() -> None:
    agent, problems = parse(HEADER, body="  \n")
    assert agent is None
    assert "no prompt" in problems[0]


def test_a_file_without_front_matter_is_no_agent() -> None:
    agent, problems = parse_agent("You find things out.", PATH)
    assert agent is None
    assert str(problems[0]).startswith(f"{PATH}:1: ")


@table(("patterns", "allowed"), [(("files.*",), {"files.read"}), (("a", "b?"), {"a", "bc"}), ((), set[str]())])
def test_tools_are_named_or_matched_by_globs(patterns: tuple[str, ...], allowed: set[str]) -> None:
    may = tool_matcher(patterns)
    assert {each for each in ("files.read", "a", "bc", "bcd", "xa") if may(each)} == allowed


def test_why_a_pattern_cannot_be_used_is_said_in_words() -> None:
    _, problems = parse_agent("---\nname: a\ndescription: d\npatterns: ['(']\n---\nWork.\n", Path("a.md"))
    assert [each.message for each in problems] == ["a pattern cannot be used: '(': missing ): ("]
