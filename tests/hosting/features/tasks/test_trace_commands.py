"""`sophon trace`: turns of a local chat too, as a list and as a tree."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.databases import copy_database

Command = Callable[..., Any]


@pytest.fixture
def chatted(folder: Path, sophon: Command) -> list[dict[str, Any]]:
    copy_database(folder)
    assert sophon("chat", "--session", "work", "What is 17 * 23?").code == 0
    assert sophon("chat", "--session", "play", "2 + 2").code == 0
    return json.loads(sophon("trace", "--json").out)


def test_the_last_turns_are_listed(chatted: list[dict[str, Any]], sophon: Command) -> None:
    assert [each["session_id"] for each in chatted] == ["play", "work"]
    assert [each["status"] for each in chatted] == ["completed", "completed"]
    assert [each["run_id"] for each in json.loads(sophon("trace", "--last", "1", "--json").out)] == [
        chatted[0]["run_id"]
    ]
    shown = sophon("trace", "--session", "work")
    assert chatted[1]["run_id"] in shown.out
    assert chatted[0]["run_id"] not in shown.out


def test_a_turn_of_a_local_chat_is_shown_as_a_tree(chatted: list[dict[str, Any]], sophon: Command) -> None:
    shown = sophon("trace", chatted[1]["run_id"])
    assert shown.code == 0, shown.err
    for part in ("completed", "model attempts", "tool calls", "calculator", "stages", "of work", "AgenticLoop"):
        assert part in shown.out
    found = json.loads(sophon("trace", chatted[1]["run_id"], "--json").out)
    assert found["task"] is None
    assert found["trace"]["tools"][0]["outcome"] == "completed"


def test_a_trace_is_exported_for_other_viewers(chatted: list[dict[str, Any]], sophon: Command, folder: Path) -> None:
    task = chatted[1]["run_id"]
    sophon("trace", "export", task, "-o", "trace.json")
    written = json.loads((folder / "trace.json").read_text())
    assert written == json.loads(sophon("trace", "export", task).out)
    spans = written["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert "execute_tool calculator" in [each["name"] for each in spans]
    assert "exists already" in sophon("trace", "export", task, "-o", "trace.json").err
    assert "there is no trace 'none'" in sophon("trace", "export", "none").err


def test_who_looks_for_a_turn_of_a_chat_among_the_tasks_is_told_where_it_is(
    chatted: list[dict[str, Any]], sophon: Command
) -> None:
    turn = chatted[0]["run_id"]
    found = sophon("tasks", "show", turn)
    assert found.code == 1
    assert f"`sophon trace {turn}` shows it" in found.err
    assert "there is no task 'unknown'" in sophon("tasks", "show", "unknown").err


def test_turns_are_counted_per_day(chatted: list[dict[str, Any]], sophon: Command) -> None:
    (today,) = json.loads(sophon("usage", "--turns", "--json").out)
    assert (today["turns"], today["failed"]) == (len(chatted), 0)
    assert "longest" in sophon("usage", "--turns").out
    assert sophon("usage", "--turns", "--session", "work").code == 2


def test_wrong_input_gets_one_line(chatted: list[dict[str, Any]], sophon: Command) -> None:
    wrong = sophon("trace", chatted[0]["run_id"], "--last", "2")
    assert (wrong.code, wrong.out) == (2, "")
    unknown = sophon("trace", "unknown")
    assert unknown.code == 1
    assert "there is no task 'unknown'" in unknown.err


def test_without_traces_there_are_none(folder: Path, sophon: Command) -> None:
    copy_database(folder)
    sophon("chat", "--set", "Traces.Enabled=false", "2 + 2")
    assert "There are no traces." in sophon("trace").out


def test_a_turn_is_replayed_with_another_chain(chatted: list[dict[str, Any]], sophon: Command) -> None:
    task = chatted[1]["run_id"]
    shown = sophon("trace", "replay", task, "--chain", "clawft")
    assert shown.code == 0, shown.err
    for part in ("What is 17 * 23?", "391", "chain clawft", "got the recorded result", "no tool ran", "charged"):
        assert part in shown.out
    found = json.loads(sophon("trace", "replay", task, "--json").out)
    assert found["original"]["answer"] == found["replay"]["answer"]
    assert len(json.loads(sophon("trace", "--json").out)) == len(chatted)


def test_a_wrong_replay_gets_one_line(chatted: list[dict[str, Any]], sophon: Command) -> None:
    task = chatted[1]["run_id"]
    for arguments in (("unknown",), (task, "--chain", "mine"), (task, "--model", "gpt-0"), ()):
        wrong = sophon("trace", "replay", *arguments)
        assert wrong.code in (1, 2)
        assert len([line for line in wrong.err.splitlines() if line.startswith("error: ")]) == 1
        assert "Traceback" not in wrong.err
