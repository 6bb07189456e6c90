"""A text that is cut shows no part of a secret at the cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.security import redact_and_cut
from sophon.security.redaction.text_redaction import CUT_MARGIN

KEY = "sk-" + "9f8e7d6c5b4a39281706" * 2
PEM = f"-----BEGIN PRIVATE KEY-----{'A' * 7000}-----END PRIVATE KEY-----"


@pytest.mark.parametrize("limit", [80, 200, 2000])
@pytest.mark.parametrize("prefix", ["", PEM + " ", "x " * 10])
@given(before=st.integers(0, 12_000), after=st.integers(0, 3000))
def test_a_key_at_any_place_is_not_shown_in_part(prefix: str, limit: int, before: int, after: int) -> None:
    shown = redact_and_cut(f"{prefix}{'. ' * (before // 2)}{KEY}{' .' * after}", limit)
    assert "9f8e7" not in shown
    assert len(shown) <= limit


def test_an_earlier_secret_does_not_bring_half_of_a_later_one_into_view() -> None:
    for window in (8000, 8000 + CUT_MARGIN):
        text = f"{PEM} {'x' * (window - len(PEM) - 20)} {KEY} and more"
        assert "9f8e" not in redact_and_cut(text, 2000)


def test_the_part_of_a_word_in_front_of_the_cut_is_left_out() -> None:
    assert redact_and_cut("unknown keys: tail Qx7Zm2Lp9Rt4 end", 25) == "unknown keys: tail "


def test_a_short_text_is_complete() -> None:
    assert redact_and_cut("no such model", 200) == "no such model"
