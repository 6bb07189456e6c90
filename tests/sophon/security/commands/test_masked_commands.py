"""Masks: what hides a command from its reader is judged as the shell would run it, ordinary commands as before."""

from pathlib import Path

import pytest

from sophon import Decision, Risk, ToolCall, tool
from sophon.security import assess_risk, evaluate_heuristics, is_safe_command
from sophon.security.commands.command_forms import find_command_forms
from tests.middlewares.guards.conftest import Gate, GuardedTurn
from tests.sophon.security.commands.masked_commands import (
    DELETIONS,
    DOWNLOADS,
    ORDINARY,
    OTHER_HARM,
    PROGRAM_OPTIONS,
    SECRETS,
)
from tests.tables import table

QUESTIONED = {
    *("if [ -f .env ]; then echo yes; else echo no; fi", "env | sort | grep -i proxy"),
    *("scp build/app.tar user@host:/srv/", "rsync -avz --exclude node_modules ./ user@host:/srv/app/"),
    "curl -s https://api.example.com/items | python3 -m json.tool",
}
"""Ordinary commands that rules about the text as it is written ask about."""


@table("command", [*DELETIONS, *OTHER_HARM, *PROGRAM_OPTIONS, *DOWNLOADS])
def test_a_masked_command_is_of_high_risk(command: str) -> None:
    assert assess_risk("anything", {"command": command}) is Risk.HIGH
    assert not is_safe_command(command)


@table("command", SECRETS)
def test_a_masked_look_at_a_private_key_is_found(command: str) -> None:
    assert evaluate_heuristics("anything", {"command": command}).severity != "allow"


@table("command", ORDINARY)
def test_an_ordinary_command_is_no_mask(command: str) -> None:
    assert assess_risk("anything", {"command": command}) is Risk.LOW
    assert not find_command_forms(command).is_hidden
    assert (evaluate_heuristics("anything", {"command": command}).severity == "allow") is (command not in QUESTIONED)


@table(
    "arguments",
    [
        {"cmd": "r''m -r''f ~"},
        {"script": "r''m -r''f ~"},
        {"code": "a=r; b=m; $a$b -rf ~"},
        {"commands": ["ls", "r''m -r''f ~"]},
        {"command": ["bash", "-c", "r''m -r''f ~"]},
        {"command": ["env", "rm", "-r", "-f", "~"]},
        {"command": "rm", "args": ["-rf", "~"]},
        {"command": {"line": "r''m -r''f ~"}},
        {"command": [["r''m -r''f ~"]]},
        ["r''m -r''f ~"],
        "r''m -r''f ~",
    ],
)
def test_the_command_may_stand_in_any_form_of_arguments(arguments: object) -> None:
    assert assess_risk("anything", arguments) is Risk.HIGH


@table("words", [["grep", "(a|b", "x"], ["echo", "$HOME", "`id`"], ["git", "commit", "-m", "a & b"]])
def test_the_words_of_a_list_are_no_commands(words: list[str]) -> None:
    assert assess_risk("anything", {"command": words}) is Risk.LOW


@tool(name="terminal", risk=Risk.LOW)
async def terminal(command: str) -> str:
    """Run a command on the machine."""
    return f"ran {command}"


@pytest.mark.parametrize("command", [DELETIONS[0], DELETIONS[7], DOWNLOADS[0], "$(cat f)"], ids=ascii)
async def test_a_person_is_asked_about_a_mask_in_a_tool_of_low_risk(tmp_path: Path, command: str) -> None:
    turn = GuardedTurn(tmp_path, Gate(decision=Decision.reject("no")))
    [result] = await turn.run([], [ToolCall("c1", "terminal", {"command": command})], tools=[terminal])
    assert "ran" not in result
    assert len(turn.gate.asked) == 1


async def test_nobody_is_asked_about_an_ordinary_pipe(tmp_path: Path) -> None:
    turn = GuardedTurn(tmp_path)
    call = ToolCall("c1", "terminal", {"command": "git ls-files | xargs wc -l | tail -1"})
    [result] = await turn.run([], [call], tools=[terminal])
    assert result.startswith("ran")
    assert turn.gate.asked == []


@table(
    "command",
    [
        "x=aa;" + "x=$x$x;" * 40 + "$x",
        "echo " + "{a," * 300 + "}" * 300,
        "echo " + "a " * 20_000 + "| xargs -I{} sh -c '{} {}'",
        "$(" * 3000,
        "eval " * 3000 + "ls $x",
        "for a in " + "x " * 500 + "; do for b in " + "y " * 500 + "; do $a$b; done; done",
        "x=" + "ab" * 900 + ";" + "echo ${x//a*b?*c/};" * 300,
        "\ue000\ue001 | sh",
        "echo \udcff | base64 -d | sh",
    ],
)
def test_a_command_that_is_made_to_cost_time_is_read_in_bounded_steps(command: str) -> None:
    assert assess_risk("anything", {"command": command}) in (Risk.LOW, Risk.HIGH)
