"""`sophon decide`."""

import json

import pytest

from tests.hosting.cli.conftest import Command


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("every 15 minutes check btc", ["strategy: scheduled_task", "interval: every 15 minutes"]),
        (
            "what time is it in Tokyo?",
            ["strategy: direct", "fast path: date and time, datetime.now {'timezone': 'Tokyo'}"],
        ),
        ("search for cats", ["off: there is no tool web.search"]),
        ("ok", ["as a first message it says too little"]),
    ],
)
def test_a_decision_is_explained(sophon: Command, text: str, lines: list[str]) -> None:
    said = sophon("decide", text).out
    assert all(line in said for line in lines), said


def test_the_families_are_listed_with_their_tools(sophon: Command) -> None:
    rows = json.loads(sophon("decide", "--families", "--json").out)
    assert len(rows) == 13
    state = {row["family"]: (row["tool"], row["state"]) for row in rows}
    assert state["date and time"] == ("datetime.now", "on")
    assert state["search in the web"] == ("web.search", "off: no such tool")
    assert state["list of schedules"] == ("schedules.list", "on"), "a host has the tools of schedules"
    assert [each[1] for each in state.values()].count("on") == 7


def test_without_a_message_the_command_says_what_it_needs(sophon: Command) -> None:
    done = sophon("decide")
    assert (done.code, done.out) == (2, "")
    assert "give a message, or --families" in done.err
