import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sophon_channels.contract import Button, OutboundMessage
from sophon_channels.text.utf16 import utf16_length
from sophon_channels.whatsapp.rendering import build_list_rows, render_payloads
from tests.properties import examples


def texts(markdown: str) -> list[str]:
    return [each["text"] for each in render_payloads(OutboundMessage(markdown))]


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** and *it*", "*bold* and _it_"),
        ("~~gone~~ `code`", "~gone~ `code`"),
        ("# Title\n\ntext", "*Title*\n\ntext"),
        ("```py\nx = 1\n```", "```x = 1```"),
        ("- a\n- b", "• a\n• b"),
        ("[docs](https://example.org/x)", "docs (https://example.org/x)"),
        ("> quoted", "> quoted"),
        ("> a **b** c\n> d", "> a *b* c\n> d"),
        ("> - a\n> - b\n\nafter", "> • a\n> • b\n\nafter"),
        ("> ```\n> x\n> ```", "```x```"),
        ("> see [d](https://e.org/x) now", "> see d (https://e.org/x) now"),
        ("[**a** b](https://e.org/x)", "*a* b (https://e.org/x)"),
        ("**[a](https://e.org/x)**", "*a* (https://e.org/x)"),
        ("<https://e.org/x>", "https://e.org/x"),
        ("| a | b |\n|-|-|\n| 1 | 2 |", "```a | b\n--+--\n1 | 2```"),
        ("plain <b>html</b>", "plain <b>html</b>"),
    ],
)
def test_markdown_becomes_whatsapps_own_marks(markdown: str, shown: str) -> None:
    assert texts(markdown) == [shown]


def test_what_the_host_says_itself_is_not_marked() -> None:
    assert render_payloads(OutboundMessage("1 * 2 * 3 _x_", is_markdown=False)) == [{"text": "1 * 2 * 3 _x_"}]


@given(st.text(st.sampled_from("ab *_~`#>-\n[]()👩‍🚀é"), max_size=400), st.integers(1, 40))
def test_every_message_fits_and_none_is_blank(piece: str, times: int) -> None:
    for part in render_payloads(OutboundMessage(piece * times)):
        assert part["text"].strip()
        assert utf16_length("♻️ This may be a repeat:\n" + part["text"]) <= 4096


@given(st.lists(st.text(st.characters(whitelist_categories=["L", "N"]), min_size=1, max_size=12), max_size=900))
def test_no_word_is_lost(words: list[str]) -> None:
    shown = " ".join(" ".join(texts(" ".join(words))).split())
    assert "".join(shown.split()) == "".join("".join(words).split())


@given(st.text(max_size=5000))
def test_a_question_has_its_buttons_behind_a_body_that_fits(text: str) -> None:
    made = render_payloads(
        OutboundMessage(text, is_markdown=False, buttons=(Button("Approve", "a"), Button("Reject", "b")))
    )
    assert [("buttons" in part) for part in made] == [*([False] * (len(made) - 1)), *([True] if made else [])]
    if made:
        assert utf16_length(made[-1]["text"]) <= 1024 - 25


@pytest.mark.parametrize(
    "given",
    [
        [Button("a", "1")] * 2,
        [Button(str(number), "x") for number in range(4)],
        [Button(str(number), str(number)) for number in range(11)],
        [Button("x" * 73, "1")],
        [Button("x" * 30, "1"), Button("x" * 30, "2")],
        [Button("x" * 30, "y" * 201)],
        [Button("", "1")],
        [Button("x", "y" * 257)],
    ],
)
def test_buttons_that_whatsapp_would_refuse_are_a_mistake(given: list[Button]) -> None:
    with pytest.raises(ValueError, match=r"button|title"):
        render_payloads(OutboundMessage("text", buttons=tuple(given)))


def test_optional_buttons_beyond_the_third_are_left_out() -> None:
    buttons = [Button(each, each, is_optional=each in "CD") for each in "ABCD"]
    (made,) = render_payloads(OutboundMessage("?", buttons=tuple(buttons)))
    assert [each["title"] for each in made["buttons"]] == ["A", "B", "C"]


def test_more_choices_than_buttons_and_long_ones_are_the_rows_of_a_list() -> None:
    labels = ["Tea", "Coffee", "Juice", "A very long description of a beverage"]
    buttons = tuple(Button(label, str(number)) for number, label in enumerate(labels))
    [made] = render_payloads(OutboundMessage("What?", buttons=buttons))
    assert "buttons" not in made
    assert made["rows"][0] == {"id": "0", "title": "Tea"}
    assert made["rows"][3] == {"id": "3", "title": "A very long description…", "description": labels[3]}


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=10, unique=True))
def test_every_row_keeps_the_limits_or_is_a_mistake(labels: list[str]) -> None:
    try:
        rows = build_list_rows([Button(label, str(number)) for number, label in enumerate(labels)])
    except ValueError:
        return
    assert all(1 <= utf16_length(row["title"]) <= 24 for row in rows)
    assert all(utf16_length(row.get("description", "x")) <= 72 for row in rows)


def test_code_cannot_end_its_block() -> None:
    [shown] = texts("````\na\n```\nb\n````")
    assert len(re.findall("```", shown)) == 2


ASTRONAUT = "👩‍🚀"


@given(st.integers(0, 40), st.booleans())
def test_no_emoji_is_torn_wherever_a_cut_falls(before: int, markdown: bool) -> None:
    made = render_payloads(OutboundMessage("x" * before + ASTRONAUT * 2000, is_markdown=markdown))
    assert len(made) > 2
    for part in made:
        assert part["text"].removeprefix("x" * before).replace(ASTRONAUT, "") == ""
    assert sum(part["text"].count(ASTRONAUT) for part in made) == 2000


@given(st.integers(0, 60))
def test_no_emoji_is_torn_before_buttons(before: int) -> None:
    text = "x" * before + ASTRONAUT * 400
    made = render_payloads(OutboundMessage(text, is_markdown=False, buttons=(Button("Approve", "a"),)))
    assert "".join(part["text"] for part in made) == text
    assert all(utf16_length(part["text"]) <= 1024 for part in made[-1:])


@given(st.integers(3000, 3900), st.integers(20, 1500))
def test_a_links_address_is_whole_wherever_a_cut_falls(before: int, length: int) -> None:
    address = "https://example.org/" + "a" * length
    made = texts("word " * (before // 5) + f"[the docs]({address}) after")
    assert sum(f"{address})" in part for part in made) == 1


def test_marks_are_closed_in_the_message_that_opens_them() -> None:
    made = texts("**" + "bold words " * 900 + "end**")
    assert len(made) > 2
    assert all(part.startswith("*") and part.endswith("*") and part.count("*") == 2 for part in made)


MARKED = st.lists(
    st.sampled_from(["**b**", "*i*", "~~s~~", "`c`", "***~~x~~***", "word", "👩‍🚀"]), min_size=1, max_size=12
)


@settings(max_examples=examples(20))  # the texts are long
@given(MARKED, st.integers(1, 200), st.booleans())
def test_every_mark_that_a_message_opens_it_closes(pieces: list[str], times: int, caption: bool) -> None:
    path = "/a/b.txt" if caption else None
    made = render_payloads(OutboundMessage(" ".join(pieces * times), file_path=path))
    assert "".join("".join(each["text"] for each in made).split()) == "".join(
        re.sub(r"\*\*\*~~x~~\*\*\*", "*_~x~_*", " ".join(pieces * times))
        .replace("**", "\0").replace("*i*", "_i_").replace("\0", "*").replace("~~", "~").split()
    )  # fmt: skip
    for part in made:
        assert utf16_length(part["text"]) <= 4096 - 25
        assert all(part["text"].count(mark) % 2 == 0 for mark in "*_~`")
