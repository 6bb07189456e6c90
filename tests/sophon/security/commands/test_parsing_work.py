"""Scripts that the parser would take quadratic time for are refused before it reads them."""

import pytest
from tree_sitter import Language

from sophon.security.commands import syntax
from sophon.security.commands.syntax import MAX_COSTLY, SyntaxProblem, find_commands, parse_script


@pytest.mark.parametrize("unit", ["a|", "rev|", "a\n|", "<<a\n", "${a", "a||"])
def test_a_script_of_many_pipes_and_expansions_is_refused_unread(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(language: Language) -> None:
        pytest.fail(f"parsed with {language}")

    monkeypatch.setattr(syntax, "Parser", refuse)
    with pytest.raises(SyntaxProblem):
        parse_script(unit * (MAX_COSTLY + 1))


def test_a_script_with_some_hundred_pipes_is_read() -> None:
    assert len(find_commands("cat a | sort; " * 500)) == 1000
