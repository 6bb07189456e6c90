"""The list of tools that may run off the record."""

from typing import Any

from sophon.builtin_tools.agents import agent_tools
from sophon.security.action_types import ACTION_TYPES
from sophon.security.off_the_record_tools import find_off_the_record_refusal, is_offered_off_the_record
from sophon_hosting.features.goals.tools import goal_tools
from sophon_hosting.features.schedules.tools import schedule_tools
from tests.tables import table

READING = [
    *("read_file", "list_directory", "search_files", "browser_navigate", "browser_extract", "browser_screenshot"),
    *("read_calendar", "git_status", "git_diff", "git_log", "memory_search", "http_request"),
    *("files.read", "files.list", "http.request", "memory.search", "datetime.now", "calculator", "load_tools"),
]


@table("name", READING)
def test_tools_that_read_are_allowed(name: str) -> None:
    assert is_offered_off_the_record(name)
    assert find_off_the_record_refusal(name, {}) is None


@table(
    "name",
    [
        *sorted(ACTION_TYPES - set(READING)),
        *("files.write", "http.send", "system.execute", "memory.write", "memory.forget", "chat.send_file"),
        *("anything", "READ_FILE", "read_file ", ""),
    ],
)
def test_every_other_tool_is_refused(name: str) -> None:
    assert not is_offered_off_the_record(name)
    assert "off the record" in str(find_off_the_record_refusal(name, {}))


KEEPING_GROUPS = {
    "agents": {"agents.run", "agents.list", "agents.cancel"},
    "goals": {"goals.create", "goals.list", "goals.show", "goals.pause", "goals.resume", "goals.cancel"},
    "schedules": {"schedules.add", "schedules.list", "schedules.pause", "schedules.resume", "schedules.remove"},
}
"""Tools that keep or start something, and those that show what is kept on the record."""


@table("name", sorted(name for names in KEEPING_GROUPS.values() for name in names))
def test_agents_goals_and_schedules_are_refused(name: str) -> None:
    assert not is_offered_off_the_record(name)
    assert f"{name} may not run" in str(find_off_the_record_refusal(name, {}))


def test_every_tool_of_agents_goals_and_schedules_has_its_verdict() -> None:
    registered = {each.name for each in (*agent_tools(), *goal_tools(), *schedule_tools())}
    assert registered == {name for names in KEEPING_GROUPS.values() for name in names}


@table(
    ("arguments", "is_allowed"),
    [
        ({"url": "https://a.test"}, True),
        ({"method": "get"}, True),
        ({"method": "POST"}, False),
        ({"method": "GET", "body": "x"}, False),
        ({"method": None}, False),
        ({"method": ["GET"]}, False),
    ],
)
def test_a_web_request_only_gets(arguments: dict[str, Any], is_allowed: bool) -> None:
    assert (find_off_the_record_refusal("http_request", arguments) is None) is is_allowed
