"""The program's own options may stand anywhere before `--`."""

import pytest

from sophon_hosting.cli.global_options import hoist_global_options


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        ([], []),
        (["chat", "hello"], ["chat", "hello"]),
        (["chat", "--set", "A.B=1", "hello"], ["--set", "A.B=1", "chat", "hello"]),
        (["--set", "A=1", "chat", "--set=B=2"], ["--set", "A=1", "--set=B=2", "chat"]),
        (["chat", "--settings", "my.json", "--debug"], ["--settings", "my.json", "--debug", "chat"]),
        (["chat", "--", "--set", "x"], ["chat", "--", "--set", "x"]),
        (["chat", "--set"], ["--set", "chat"]),
    ],
)
def test_the_options_of_the_program_come_first_in_their_order(given: list[str], ordered: list[str]) -> None:
    assert hoist_global_options(given) == ordered
