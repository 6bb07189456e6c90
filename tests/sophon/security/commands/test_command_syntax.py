"""Syntax of commands: what other alphabets and much work do to the parser."""

import subprocess
import sys
from itertools import count

import pytest

from sophon import Risk
from sophon.security import assess_risk
from sophon.security.commands.syntax import MAX_CHARACTERS, MAX_SECONDS, UnreadScript, find_commands, parse_script
from tests.tables import table

HOSTILE = (
    "\u01cc@(\U000fda82\U00047f64\u2580\U000afc04\u0b47)\U001062e5a\x16\U0002e913.\u27ea"
    "\u1a6b{\U001070e3q2*)'iD\u0f48\U001048e7`"
)
"""A text that crashed the scanner of the grammar in about one process of three."""


def test_words_of_other_alphabets_are_read_as_they_are() -> None:
    [command] = find_commands("écho 'naïve\u00a0x' \"größe\" > ü/日本.txt")
    assert [word.text for word in command.words] == ["écho", "naïve\u00a0x", "größe"]
    assert command.redirections[0].target.text == "ü/日本.txt"


def test_no_text_crashes_the_process() -> None:
    program = (
        "import sys\n"
        "from sophon.security.commands.syntax import SyntaxProblem, find_commands\n"
        "for number in range(300):\n"
        "    try:\n"
        "        find_commands(sys.argv[1] + chr(0x3000 + number * 3000) + '@(' + chr(0x10000 + number * 3001))\n"
        "    except SyntaxProblem:\n"
        "        pass\n"
    )
    done = subprocess.run([sys.executable, "-c", program, HOSTILE], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-500:]


@pytest.mark.parametrize("unit", [")", ")(", "a=(", "a|", "a\n|", "<<a\n"])
def test_a_script_that_is_too_much_work_is_given_up(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = count(0, MAX_SECONDS / 20)
    monkeypatch.setattr("sophon.security.commands.syntax.thread_time", lambda: next(spent))
    script = unit * (MAX_CHARACTERS // len(unit))
    with pytest.raises(UnreadScript):
        parse_script(script)
    assert next(spent) < 2 * MAX_SECONDS  # the parser asked no further
    assert assess_risk("run", {"command": script}) is assess_risk("run", {"script": script}) is Risk.HIGH


@table("filler", ["a " * (MAX_CHARACTERS // 2), "'" + "(" * MAX_CHARACTERS + "'"])
@table("argument", ["command", "script"])
def test_what_is_too_long_to_be_read_is_of_high_risk(argument: str, filler: str) -> None:
    assert assess_risk("run", {argument: f"ls {filler}"}) is Risk.HIGH


def test_what_is_nested_too_deeply_is_of_high_risk() -> None:
    assert assess_risk("run", {"command": "(" * 120 + "ls" + ")" * 120}) is Risk.HIGH


def test_a_long_script_is_read_in_pieces() -> None:
    script = "echo 'ä and more words'; " * 1000
    assert len(find_commands(script)) == 1000
