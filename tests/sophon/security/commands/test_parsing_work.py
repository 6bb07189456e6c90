"""The work that a command makes for the parser: it ends at the first error, behind which it would be quadratic."""

from collections.abc import Callable

import pytest
from tree_sitter import Language, Parser, Tree

from sophon.security.commands import syntax
from sophon.security.commands.syntax import SyntaxProblem, parse_script

Progress = Callable[[int, bool], bool]


@pytest.mark.parametrize("unit", ["a|", "rev|", "a\n|", "<<a\n"])
def test_a_command_with_an_error_is_not_read_to_its_end(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []

    class CountedParser:
        def __init__(self, language: Language) -> None:
            self._parser = Parser(language)

        def parse(self, read: Callable[[int, object], bytes], *, progress_callback: Progress) -> Tree:
            def count(at: int, has_error: bool) -> bool:
                steps[-1] += 1
                return progress_callback(at, has_error)

            return self._parser.parse(read, progress_callback=count)

    monkeypatch.setattr(syntax, "Parser", CountedParser)
    for times in (500, 2000):
        steps.append(0)
        with pytest.raises(SyntaxProblem):
            parse_script(unit * times)
    assert steps[1] < 8 * steps[0] + 8


def test_a_command_of_many_open_pipes_is_refused_at_once() -> None:
    with pytest.raises(SyntaxProblem):
        parse_script("a|" * 49_000)  # read on behind the error, this takes minutes
