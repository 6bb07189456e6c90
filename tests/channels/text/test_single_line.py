"""A name that others chose stays on its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.text.single_line import to_single_line


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("Ada", "Ada"),
        (" Ada \r\n\tLi\u2028x ", "Ada Li x"),
        ("a\u202eb\x00c\x1b[31m", "a b c [31m"),
        ("\ufeff\u200b", ""),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_text_becomes_one_line(given_text: str, expected: str) -> None:
    assert to_single_line(given_text) == expected


@given(st.text(), st.integers(1, 50))
def test_every_line_is_printable_and_short(text: str, limit: int) -> None:
    line = to_single_line(text, limit)
    assert line.isprintable()
    assert len(line) <= limit
