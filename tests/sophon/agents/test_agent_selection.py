"""Which agent answers a message: the most specific rule, and of equal ones the first by name."""

from pathlib import Path

from sophon.agents.agent_selection import route_to_agent
from sophon.agents.definition import AgentDefinition
from tests.tables import table


def agent(name: str, *, channels: tuple[str, ...] = (), patterns: tuple[str, ...] = ()) -> AgentDefinition:
    return AgentDefinition(name, "Works.", Path(f"{name}.md"), "Work.", channels=channels, patterns=patterns)


AGENTS = {
    each.name: each
    for each in (
        agent("zoe", patterns=("invoice",)),
        agent("bob", channels=("telegram",), patterns=("invoice", r"\bbug\b")),
        agent("ann", channels=("telegram:chat:-1", "s1")),
    )
}
SETTINGS = {"whatsapp": "zoe", "telegram:5": "bob", "telegram:chat:-7": "gone", "web": "main"}


@table(
    ("text", "channel", "chats", "expected"),
    [
        ("hello", "local", ("local",), None),
        ("@zoe look", "telegram", ("telegram:5",), ("zoe", "mention")),
        ("  @ZOE: look", "local", (), ("zoe", "mention")),
        ("@zoey look", "local", (), None),
        ("ask @zoe", "local", (), None),
        ("@nobody invoice", "local", (), ("bob", "content")),
        ("@main invoice", "telegram", (), ("main", "mention")),
        ("an invoice", "telegram", ("telegram:5",), ("bob", "chat")),
        ("hello", "telegram", ("telegram:chat:-1",), ("ann", "chat")),
        ("hello", "local", ("local", "s1"), ("ann", "chat")),
        ("an invoice", "whatsapp", ("whatsapp:1",), ("bob", "content")),
        ("a bug", "whatsapp", ("whatsapp:1",), ("bob", "content")),
        ("debugging", "whatsapp", ("whatsapp:1",), ("zoe", "channel")),
        ("hello", "telegram", ("telegram:9",), ("bob", "channel")),
        ("hello", "telegram", ("telegram:chat:-7",), ("bob", "channel")),
        ("hello", "web", ("ada",), ("main", "channel")),
        ("x" * 5000 + "invoice", "local", (), None),
        ("\ud800 invoice", "local", (), ("bob", "content")),
    ],
)
def test_the_most_specific_rule_decides(
    text: str, channel: str, chats: tuple[str, ...], expected: tuple[str, str] | None
) -> None:
    for agents in (AGENTS, dict(reversed(AGENTS.items()))):
        route = route_to_agent(text, channel=channel, chats=chats, agents=agents, settings=SETTINGS)
        assert (None if route is None else (route.agent, route.rule)) == expected
