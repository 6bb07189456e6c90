"""A message never has more entities than Telegram formats: a longer one is split, and no word of it is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon_channels.contract import OutboundMessage
from sophon_channels.telegram.rendering import (
    MAX_ENTITIES,
    MAX_ENTITY_BYTES,
    PART_LIMIT,
    build_entity_limit,
    find_entities,
    render_payloads,
)
from sophon_channels.text.markdown import runs_from_markdown
from sophon_channels.text.message_splitting import split_runs
from sophon_channels.text.styled_text import StyledRun, TextStyle, to_plain_text
from sophon_channels.text.utf16 import utf16_length
from tests.channels.telegram.telegram_html import read

STYLES = st.builds(
    TextStyle,
    bold=st.booleans(),
    italic=st.booleans(),
    strikethrough=st.booleans(),
    code=st.booleans(),
    quote=st.booleans(),
    code_block_language=st.sampled_from([None, None, None, "", "py"]),
    link=st.sampled_from([None, None, "https://a.example", "https://b.example/" + "x" * 900]),
)
WORDS = st.sampled_from(
    ["tea ", "👩‍🚀", "é\u0301 ", "\n\n", "a@b.example ", "#tag ", "/stop ", "x" * 300, "www.a.example ", "\u200b"]
)
RUNS = st.lists(st.builds(StyledRun, WORDS, STYLES), max_size=25)


def entities_of(html: str) -> int:
    """The entities that the tags make: code inside pre is one with it."""
    return len(re.findall(r"<(?:b|i|s|a|blockquote|pre|code)\b", html)) - len(re.findall(r"<pre><code", html))


def entity_bytes(html: str) -> int:
    return sum(len(url.encode()) + 20 for url in re.findall(r'<a href="([^"]*)"', html))


@pytest.mark.parametrize(
    "markdown",
    [
        " ".join(f"**{number}**" for number in range(350)),
        " ".join(f"***~~{number}~~***" for number in range(150)),
        "\n".join(f"- `{number}` [l](https://a.example/{number})" for number in range(150)),
        " ".join(f"#tag{number}" for number in range(250)),
        "> " + " ".join(f"*{number}*" for number in range(250)),
        " ".join(f"[{number}](https://a.example/{'x' * 1500})" for number in range(40)),
        "**" + " ".join(f"`{number}`" for number in range(250)) + "**",
    ],
)
def test_a_message_with_too_many_entities_is_split_and_keeps_its_formatting(markdown: str) -> None:
    made = render_payloads(OutboundMessage(markdown))
    assert len(made) > 1
    whole = to_plain_text(runs_from_markdown(markdown))
    assert "".join("".join(part["plain"] for part in made).split()) == "".join(whole.split())
    for part in made:
        assert entities_of(part["html"]) <= MAX_ENTITIES
        assert entity_bytes(part["html"]) <= MAX_ENTITY_BYTES
        assert len(re.findall(r"#tag\d", part["plain"])) <= MAX_ENTITIES
        assert read(part["html"]) == part["plain"]


def test_a_message_with_as_many_entities_as_telegram_formats_is_one() -> None:
    assert len(render_payloads(OutboundMessage(" ".join(f"**{number}**" for number in range(MAX_ENTITIES))))) == 1


def test_a_message_is_cut_at_the_end_of_a_line() -> None:
    made = render_payloads(OutboundMessage("\n".join(f"- **a{number}** and **b{number}**" for number in range(80))))
    assert all(part["plain"].startswith("• a") for part in made)


@given(RUNS, st.integers(1, 30))
def test_the_pieces_together_are_the_whole(pieces: list[StyledRun], times: int) -> None:
    runs = pieces * times
    parts = split_runs(runs, PART_LIMIT, span_limit=build_entity_limit(runs))
    shown, whole = ("".join(text.replace("\u200b", "").split()) for text in (
        "".join(to_plain_text(part) for part in parts), to_plain_text(runs)
    ))  # fmt: skip
    assert shown == whole
    for part in parts:
        assert utf16_length(to_plain_text(part)) <= PART_LIMIT
        assert sum(entity.weight for entity in find_entities(part)) <= MAX_ENTITIES


@given(RUNS)
def test_an_entity_is_counted_for_each_tag(runs: list[StyledRun]) -> None:
    html = "".join(part["html"] for part in render_payloads(OutboundMessage("**a** `b` [c](https://d.example)")))
    assert entities_of(html) == 3
    assert all(entity.start <= entity.end and entity.weight >= 1 for entity in find_entities(runs))
