"""No text of anybody else's acts on the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line

BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain, with umlauts: äöü, 日本語 and 👩‍👩‍👧", "plain, with umlauts: äöü, 日本語 and 👩‍👩‍👧"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("windows\r\nlines", "windows\nlines"),
        ("over\rwritten", "over␍written"),
        ("\x1b[31mred\x1b]0;title\x07", "␛[31mred␛]0;title␇"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("a\x7fb\x08c\x00", "a␡b␈c␀"),
        ("rm \u202egpj.exe", "rm ⟨U+202E⟩gpj.exe"),
        ("pay\u200bpal\ufeff", "pay⟨U+200B⟩pal⟨U+FEFF⟩"),
        ("half \ud800", "half \ufffd"),
        ("tag \U000e0041", "tag ⟨U+E0041⟩"),
        ("one\u2028two", "one⟨U+2028⟩two"),
    ],
)
def test_what_would_act_on_a_terminal_is_shown(given: str, shown: str) -> None:
    assert escape_control_characters(given) == shown


@given(st.text(st.characters()))
def test_nothing_that_is_shown_acts_on_a_terminal(text: str) -> None:
    for character in escape_control_characters(text):
        assert character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert unicodedata.bidirectional(character) not in BIDI


@given(st.text(st.characters()), st.integers(1, 30))
def test_a_line_stays_one_line_of_its_width(text: str, width: int) -> None:
    line = to_single_line(text, width)
    assert "\n" not in line
    assert "\t" not in line
    assert len(line) <= width


@given(st.text(st.characters()))
def test_making_text_visible_twice_changes_nothing(text: str) -> None:
    assert escape_control_characters(escape_control_characters(text)) == escape_control_characters(text)
