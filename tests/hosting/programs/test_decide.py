"""`sophon decide`."""

import json

import pytest

from tests.hosting.conftest import Command


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("every 15 minutes check btc", ["strategy: scheduled_task", "interval: every 15 minutes"]),
        (
            "what time is it in Tokyo?",
            ["strategy: direct", "fast path: date and time, datetime.now {'timezone': 'Tokyo'}"],
        ),
        ("search for cats", ["web.search {'query': 'cats'}; off: no such tool, and none is tagged web_search"]),
        ("ok", ["as a first message it says too little"]),
    ],
)
def test_a_decision_is_explained(sophon: Command, text: str, lines: list[str]) -> None:
    said = sophon("decide", text).out
    assert all(line in said for line in lines), said


def test_a_message_that_a_call_answers_has_no_interval(sophon: Command) -> None:
    said = sophon("decide", "remind me tomorrow at 9 to call the bank").out
    assert "schedules.add {'day': 'tomorrow', 'at': '09:00', 'text': 'call the bank'}" in said
    assert "interval" not in said


def test_the_families_are_listed_with_their_tools(sophon: Command) -> None:
    rows = json.loads(sophon("decide", "--families", "--json").out)
    assert len(rows) == 13
    state = {row["family"]: (row["tool"], row["state"]) for row in rows}
    assert state["date and time"] == ("datetime.now", "on")
    assert state["search in the web"] == ("web.search", "off: no such tool, and none is tagged web_search")
    assert state["list of schedules"] == ("schedules.list", "on"), "a host has the tools of schedules"
    assert state["list of skills"] == ("skills.list", "off: no skill is enabled")
    assert [each[1] for each in state.values()].count("on") == 7


def test_each_family_that_is_off_says_one_reason(sophon: Command) -> None:
    rows = json.loads(
        sophon(
            *("--set", "Schedules.Enabled=false", "--set", 'Tools.Disabled=["datetime.now"]'),
            *("decide", "--families", "--json"),
        ).out
    )
    state = {row["family"]: row["state"] for row in rows}
    assert state["list of schedules"] == "off: Schedules.Enabled is false"
    assert state["date and time"] == "off: Tools.Disabled names the tool"
    assert state["page"] == "on"


def test_what_a_tool_of_an_mcp_server_may_answer_is_unknown_off_the_host(sophon: Command) -> None:
    servers = ("--set", 'Mcp.Servers=[{"Id": "weather", "Command": "w"}, {"Id": "web", "Command": "w"}]')
    listed = sophon(*servers, "decide", "--families", "--json")
    state = {row["family"]: row["state"] for row in json.loads(listed.out)}
    assert {name for name, each in state.items() if each.startswith("unknown: a tool of an MCP server may answer")} == {
        "weather",
        "search in the web",
    }
    assert state["inbox"].startswith("off: no such tool")
    assert "the tools of the MCP servers weather, web are known to a running host only" in listed.err
    assert "; unknown: a tool of an MCP server" in sophon(*servers, "decide", "search for cats").out
    assert json.loads(sophon(*servers, "decide", "weather in Oslo", "--json").out)["fast_path"]["available"] is None


def test_without_a_message_the_command_says_what_it_needs(sophon: Command) -> None:
    done = sophon("decide")
    assert (done.code, done.out) == (2, "")
    assert "give a message, or --families" in done.err


def test_a_chain_that_does_not_decide_is_named(sophon: Command) -> None:
    assert "the chain twelve decides nothing by rules" in sophon("decide", "search for cats").err
    assert "decides nothing" not in sophon("--set", "Chain.Name=wasp", "decide", "search for cats").err
