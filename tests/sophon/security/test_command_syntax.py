"""Syntax of commands: what other alphabets do to the parser."""

import subprocess
import sys

import pytest
from tree_sitter import Language, Parser

from sophon.security.commands.syntax import MAX_CHARACTERS, SyntaxProblem, find_commands, parse_script

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


def test_a_script_of_many_errors_is_given_up_at_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    progress: list[int] = []

    class CountingParser:
        def __init__(self, language: Language) -> None:
            self.parser = Parser(language)

        def parse(self, source, /, *, progress_callback):
            def count(at: int, has_error: bool) -> bool:
                progress.append(at)
                return progress_callback(at, has_error)

            return self.parser.parse(source, progress_callback=count)

    monkeypatch.setattr("sophon.security.commands.syntax.Parser", CountingParser)
    with pytest.raises(SyntaxProblem):
        parse_script(")" * MAX_CHARACTERS)
    assert len(progress) < 10  # to its end it takes hundreds, each longer than the one before


def test_a_long_script_is_read_in_pieces() -> None:
    script = "echo 'ä and more words'; " * 1000
    assert len(find_commands(script)) == 1000
