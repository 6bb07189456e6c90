"""Rendering a large answer takes time that is linear in its length, whatever it consists of."""

import time

import pytest

from sophon_channels.contract import OutboundMessage
from sophon_channels.telegram.rendering import find_entities, render_payloads
from sophon_channels.text.styled_text import StyledRun


def cpu_seconds(text: str) -> float:
    spent: list[float] = []
    for _ in range(3):
        start = time.process_time()
        render_payloads(OutboundMessage(text))
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.parametrize("unit", ["a", "_a", "a-", "a+", "a.b@", "🇩🇪", "**b** ", "#", "www", "/a.", "a@"])
def test_the_time_is_linear_in_the_length_of_the_text(unit: str) -> None:
    def text(length: int) -> str:
        return (unit * length)[:length]

    assert cpu_seconds(text(16_000)) < 12 * cpu_seconds(text(4_000)) + 0.1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see a.example/x and b.example", ["a.example/x", "b.example"]),
        ("write to ada+x@mail.example, bob@b.example.", ["ada+x@mail.example", "bob@b.example."]),
        ("(a.example) +a.example", ["a.example", "a.example"]),
        ("@ada #tag /stop $USD", ["@ada", "#tag", "/stop", "$USD"]),
        ("https://a.example/b?c www.b", ["https://a.example/b?c", "www.b"]),
        ("/stop.a.example", ["/stop", "a.example"]),
        ("plain-words_only here", []),
    ],
)
def test_what_telegram_finds_by_itself_is_found(text: str, found: list[str]) -> None:
    assert [text[span.start : span.end] for span in find_entities([StyledRun(text)])] == found
