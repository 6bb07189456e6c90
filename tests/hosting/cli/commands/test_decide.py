"""`sophon decide`."""

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
