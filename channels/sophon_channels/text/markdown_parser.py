"""Markdown parser of the channels (CommonMark, tables, strikethrough), with work that is linear in the text."""

from collections.abc import Callable
from functools import cache, lru_cache, partial

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.image import image as parse_image
from markdown_it.rules_inline.link import link as parse_link

MAX_NESTING = 60
"""Levels of nesting; the parser drops what is nested more deeply."""

MAX_UNLINKED_BRACKETS = 20
"""Brackets of a paragraph that open no link; with more of them its links are shown as text, because the parser examines
all that follows for each one.
"""


@cache
def create_parser() -> MarkdownIt:
    """Return the parser, created once. It keeps HTML and reference definitions as text."""
    # Without reference definitions: the parser would drop their lines.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
    parser.inline.ruler.at("link", partial(_parse_if_bounded, parse_link))
    parser.inline.ruler.at("image", partial(_parse_if_bounded, parse_image))
    return parser.enable(["table", "strikethrough"]).disable("reference")


def _parse_if_bounded(rule: Callable[[StateInline, bool], bool], state: StateInline, silent: bool) -> bool:
    return _may_hold_links(state.src) and rule(state, silent)


@lru_cache(maxsize=4)
def _may_hold_links(paragraph: str) -> bool:
    links = paragraph.count("](") - paragraph.count("\\](")
    return links > 0 and paragraph.count("[") - links <= MAX_UNLINKED_BRACKETS
