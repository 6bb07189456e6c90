import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.tools.untrusted_text import fence_text
from sophon_hosting.features.post_turn.title_generation import MAX_TITLE_CHARACTERS, fallback_title, title_from_text


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Cats and dogs", "Cats and dogs"),
        ('"Cats and dogs."', "Cats and dogs"),
        ("# **Cats** \n\nMore", "Cats"),
        ("\n\n  Cats\tand   dogs  ", "Cats and dogs"),
        ("a\u202eb\x1b[2J", "a b [2J"),
        ("", ""),
        ("***\n---\n", ""),
        ("word " * 30, "word word word word word word word word word word word…"),
        ("x" * 100, "x" * 59 + "…"),
    ],
)
def test_a_title_is_a_line_that_fits_into_a_list(text: str, title: str) -> None:
    assert title_from_text(text) == title


def test_a_title_from_the_message_has_no_fence() -> None:
    assert fallback_title(fence_text("Cats and dogs", "contact", "0" * 16)) == "Cats and dogs"


@given(st.text())
def test_whatever_a_model_says_the_title_is_short_and_visible(text: str) -> None:
    title = title_from_text(text)
    assert len(title) <= MAX_TITLE_CHARACTERS
    assert all(unicodedata.category(sign)[0] != "C" for sign in title)
    assert title == title.strip()
