"""A text that a person decides on hides nothing."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from sophon.invisible_characters import escape_invisible, render_for_person
from tests.tables import table

DECEIVING = st.sampled_from(
    [
        *"\x00\x1b\x07\r\n\t \x0b\x85\xa0\xad\u200b\u200d\u202e\u2066\u2069\u2028\u3164\u2800\ufeff\ufe0f⟦⟧a/;",
        "\U000e0041",
    ]
)
TEXTS = st.text() | st.lists(DECEIVING, max_size=60).map("".join)


@table(
    ("text", "shown"),
    [
        ("ls -l; é 日本 עברית 🚀", "ls -l; é 日本 עברית 🚀"),
        ("a\x00b\x1b[2Jc", "a⟦U+0000⟧b⟦U+001B⟧[2Jc"),
        ("a\rb\x7f\x85", "a⟦U+000D⟧b⟦U+007F⟧⟦U+0085⟧"),
        ("txt.\u202egpj", "txt.⟦U+202E⟧gpj"),
        ("pay\u200bpal\u2060\ufeff", "pay⟦U+200B⟧pal⟦U+2060⟧⟦U+FEFF⟧"),
        ("a\u00a0b\u3000c\u2003d", "a⟦U+00A0⟧b⟦U+3000⟧c⟦U+2003⟧d"),
        ("x\U000e0041y", "x⟦U+E0041⟧y"),
        ("o\u3164k\u115f\u2800", "o⟦U+3164⟧k⟦U+115F⟧⟦U+2800⟧"),
        ("❤\ufe0f \u0663\U000e0100", "❤⟦U+FE0F⟧ \u0663⟦U+E0100⟧"),
        ("lone \ud800", "lone ⟦U+D800⟧"),
        ("⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
    ],
)
def test_what_a_screen_does_not_show_is_escaped(text: str, shown: str) -> None:
    assert escape_invisible(text) == shown


@given(TEXTS)
def test_nothing_that_is_shown_is_invisible(text: str) -> None:
    shown = escape_invisible(text).replace("\n", "").replace("\t", "")
    assert shown.isprintable()
    assert all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in shown)


@given(TEXTS, TEXTS)
def test_two_texts_that_differ_look_different(one: str, other: str) -> None:
    assert (escape_invisible(one) == escape_invisible(other)) is (one == other)


@given(TEXTS, st.integers(min_value=1, max_value=30))
def test_a_long_text_shows_head_and_tail_and_what_is_left_out(text: str, limit: int) -> None:
    shown = render_for_person(text, limit)
    if len(text) <= limit:
        assert shown == render_for_person(text)
        return
    assert f"⟦{len(text) - limit:,} characters left out here⟧" in shown
    assert shown.endswith(render_for_person(text[len(text) - (limit - limit // 2) :]))
    assert shown.startswith(render_for_person(text[: limit // 2]))


@table(
    ("text", "shown"),
    [
        (f"ls{' ' * 300}; rm -rf ~", "ls⟦300 blanks⟧; rm -rf ~"),
        (f"ls{' ' * 40}x", f"ls{' ' * 40}x"),
        ("ls" + "\n" * 101 + "rm -rf ~", "ls\n⟦100 empty lines⟧\nrm -rf ~"),
        ("ls\n\n\nrm", "ls\n\n\nrm"),
    ],
)
def test_nothing_is_pushed_out_of_sight(text: str, shown: str) -> None:
    assert render_for_person(text) == shown


def test_lines_after_the_first_are_indented() -> None:
    assert render_for_person("a\nb\nc", indent="  ") == "a\n  b\n  c"
