"""Rendering: always readable HTML, never too long, no word lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.contract import Button, OutboundMessage
from sophon_channels.telegram.rendering import PART_LIMIT, REPEAT_MARK, TOPIC_MARK, build_keyboard, render_payloads
from sophon_channels.text.utf16 import utf16_length
from tests.channels.telegram.telegram_html import read

HOSTILE = (
    "<b>", "</pre>", "&amp;", "&", "<", "`", "``", "```\n", "```py\n", "~~~\n", "**", "*", "_", "__", "~~", "[", "](",
    ")", "](https://a.example)", "](javascript:x)", "![", "| a | b |\n|---|---|\n", "|", "\n", "\n\n", "> ", "- ",
    "1. ", "    ", "# ", "\\", "***\n", "\U0001f468\u200d\U0001f469", "\ud83d", "\x00", "[x]: y\n", '"', "'",
)  # fmt: skip
WORD = st.text("abcxyz", min_size=4, max_size=9).map(lambda word: f" {word} ")
MARKDOWN = st.lists(st.sampled_from(HOSTILE) | WORD, max_size=120).map("".join)


def html(markdown: str) -> str:
    return "".join(payload["html"] for payload in render_payloads(OutboundMessage(markdown)))


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("**bold** *italic* ~~gone~~", "<b>bold</b> <i>italic</i> <s>gone</s>"),
        ("**a *b* c**", "<b>a <i>b</i> c</b>"),
        ("`x < y`", "<code>x &lt; y</code>"),
        ("**see `x` now**", "<b>see </b><code>x</code><b> now</b>"),
        ("```py\nif a:\n    b\n```", '<pre><code class="language-py">if a:\n    b</code></pre>'),
        ("```\nplain\n```", "<pre>plain</pre>"),
        ('```x"y\nz\n```', '<pre>x"y\nz</pre>'),
        ("```py title\nz\n```", '<pre><code class="language-py">title\nz</code></pre>'),
        ("# Title\ntext", "<b>Title</b>\n\ntext"),
        ("> said\n> twice", "<blockquote>said\ntwice</blockquote>"),
        ("> a\n> > b", "<blockquote>a\n\nb</blockquote>"),
        ("text\n- a\n- b\n  1. c", "text\n\n• a\n• b\n   1. c"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("[t](https://a.example/?b=1&c=2)", '<a href="https://a.example/?b=1&amp;c=2">t</a>'),
        ("[t](tg://user?id=1)", "t (<code>tg://user?id=1</code>)"),
        ("go to TG://resolve?domain=x now", "go to <code>TG://resolve?domain=x</code> now"),
        ("**ton://a**, `tg://b`", "<code>ton://a</code>, <code>tg://b</code>"),
        ("see https://a.example/tg://b", "see https://a.example/tg://b"),
        ("[t](docs/a.md)", "t (docs/a.md)"),
        ("[t](mailto:a@b.example)", "t (mailto:a@b.example)"),
        ("[t](javascript:alert)", "[t](javascript:alert)"),
        ('[t](https://a.example "why")', '<a href="https://a.example">t</a> (why)'),
        ("![alt](https://a.example/i.png)", '<a href="https://a.example/i.png">alt</a>'),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("| a | bb |\n|---|---|\n| ccc | d |", "<pre>a   | bb\n----+---\nccc | d</pre>"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("[a]: https://b.example", "[a]: https://b.example"),
        ("un**closed", "un**closed"),
        ("half \ud83d pair \x00", "half \ufffd pair \ufffd"),
    ],
)
def test_markdown_becomes_the_html_that_telegram_reads(markdown: str, expected: str) -> None:
    assert html(markdown) == expected
    read(expected)


def test_plain_text_of_the_host_is_not_taken_for_markdown() -> None:
    assert render_payloads(OutboundMessage("a **b** <c>", is_markdown=False)) == [
        {"html": "a **b** &lt;c&gt;", "plain": "a **b** <c>"}
    ]


@given(MARKDOWN)
def test_whatever_a_model_writes_telegram_can_read(markdown: str) -> None:
    for payload in render_payloads(OutboundMessage(markdown * 3)):
        assert read(payload["html"]) == payload["plain"]
        assert payload["plain"].strip()


@given(MARKDOWN)
def test_no_word_of_a_model_is_lost(markdown: str) -> None:
    shown = "".join(payload["plain"] for payload in render_payloads(OutboundMessage(markdown)))
    assert sorted(re.findall("[abcxyz]{4,9}", markdown.replace("javascript", ""))) == sorted(
        re.findall("[abcxyz]{4,9}", shown.replace("javascript", ""))
    )


@given(st.lists(MARKDOWN, min_size=3, max_size=6), st.integers(20, 90))
def test_parts_fit_whatever_is_in_them(pieces: list[str], times: int) -> None:
    made = render_payloads(OutboundMessage("\n\n".join(pieces) * times))
    assert all(utf16_length(read(payload["html"])) <= PART_LIMIT for payload in made)


@pytest.mark.parametrize("deep", ["> " * 500 + "word", "- " * 500 + "word", "[" * 3000 + "word", "*" * 3000 + "word"])
def test_what_is_nested_too_deep_is_shown_as_it_was_written(deep: str) -> None:
    made = render_payloads(OutboundMessage(deep))
    assert "word" in "".join(read(payload["html"]) for payload in made)


def test_emphasis_and_code_go_on_in_the_next_part() -> None:
    first, second = render_payloads(OutboundMessage("```py\n" + "line of code\n" * 600 + "```"))[:2]
    assert first["html"].endswith("line of code</code></pre>")
    assert second["html"].startswith('<pre><code class="language-py">line of code\n')


def test_a_part_leaves_room_for_the_marks_of_a_repeat_and_of_a_topic_that_is_gone() -> None:
    (first, *_) = render_payloads(OutboundMessage("a" * 5000))
    assert utf16_length(REPEAT_MARK + TOPIC_MARK.format(topic=2**53) + first["plain"]) == 4096


def test_the_first_part_answers_and_the_last_one_asks() -> None:
    made = render_payloads(
        OutboundMessage(
            "word " * 2000, buttons=(Button("Allow", "ap:1:once"),), reply_to_message_id="7", replaces_message_id="9"
        )
    )
    assert [sorted(payload) for payload in (made[0], made[1], made[-1])] == [
        ["html", "plain", "replaces", "reply_to"],
        ["html", "plain"],
        ["html", "keyboard", "plain"],
    ]


@pytest.mark.parametrize("blank", ["", "  \n", "```\n```", "***\n***"[:0]])
def test_nothing_to_read_is_no_message(blank: str) -> None:
    assert render_payloads(OutboundMessage(blank)) == []


def test_buttons_stand_two_in_a_row_and_danger_is_red() -> None:
    rows = build_keyboard([Button("Allow", "a"), Button("Deny", "b", is_dangerous=True), Button("Later", "c")])
    assert [[button["text"] for button in row] for row in rows] == [["Allow", "Deny"], ["Later"]]
    assert rows[0][1] == {"text": "Deny", "callback_data": "b", "style": "danger"}


@pytest.mark.parametrize(
    "buttons", [[Button("a", "")], [Button("a", "ü" * 33)], [Button(" ", "a")], [Button("a", "b")] * 101]
)
def test_buttons_that_telegram_would_refuse_are_refused_here(buttons: list[Button]) -> None:
    with pytest.raises(ValueError, match="button"):
        build_keyboard(buttons)


@given(
    st.lists(st.sampled_from(["tg://x", "TON://y", "a", " ", "https://z", "*", "`", "(", "\n", "[t](tg://u)"])).map(
        "".join
    )
)
def test_no_app_url_becomes_a_link(text: str) -> None:
    for is_markdown in (True, False):
        for payload in render_payloads(OutboundMessage(text, is_markdown=is_markdown)):
            bare = re.sub(r"<(code|pre)[^>]*>.*?</\1>", " ", payload["html"], flags=re.DOTALL)
            for shown in (bare, payload["plain"]):
                assert not re.search(
                    r"(?<![a-z0-9+.-])(?:tg|ton)://", re.sub(r"https?://\S+", "", shown), re.IGNORECASE
                )
