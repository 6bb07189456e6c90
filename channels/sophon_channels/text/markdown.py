"""Conversion of a model's markdown to styled runs (CommonMark, tables and strikethrough; HTML is kept as text)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.image import image as parse_image
from markdown_it.rules_inline.link import link as parse_link
from markdown_it.token import Token

from sophon_channels.json_fields import sanitize_text
from sophon_channels.text.styled_text import PLAIN_STYLE, StyledRun, TextStyle

# Nothing else: a link such as tg:// or javascript: acts in an app instead of opening a page.
_LINKABLE = re.compile(r"https?://[^/]", re.IGNORECASE)

_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")

MAX_URL_LENGTH = 2048
"""In characters; a longer URL is shown as text."""

HORIZONTAL_RULE = "———"
"""Text of a horizontal rule."""

BULLET = "•"
"""Marker of an unordered list item."""

MAX_NESTING = 60
"""Levels of nesting; the parser drops what is nested more deeply."""

MAX_UNLINKED_BRACKETS = 20
"""Brackets of a paragraph that open no link; with more of them its links are shown as text, because the parser examines
all that follows for each one.
"""

MAX_COLUMN_WIDTH = 40
"""In characters; a longer cell extends beyond its column."""


def runs_from_markdown(markdown: str) -> list[StyledRun]:
    """Return the text as styled runs; every word of the markdown is kept. Pure."""
    text = sanitize_text(markdown)
    tokens = create_parser().parse(text)
    if any(token.level >= MAX_NESTING - 2 for token in tokens):
        return [StyledRun(text)]  # the parser drops content that is nested more deeply
    builder = _RunBuilder()
    builder.add_blocks(tokens)
    return builder.runs


class _RunBuilder:
    """Builder that converts markdown tokens to runs; a stack holds the current style."""

    def __init__(self) -> None:
        self.runs: list[StyledRun] = []
        self._styles: list[TextStyle] = [PLAIN_STYLE]
        self._list_numbers: list[int | None] = []
        self._separator = ""
        self._urls: list[tuple[str, str, int]] = []

    def add_blocks(self, tokens: Sequence[Token]) -> None:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.type == "table_open":
                end = next(i for i in range(position, len(tokens)) if tokens[i].type == "table_close")
                self._add_block(
                    render_table(_table_rows(tokens[position:end])), replace(self._style, code_block_language="")
                )
                position = end
            else:
                self._handle(token)
            position += 1

    @property
    def _style(self) -> TextStyle:
        return self._styles[-1]

    def _handle(self, token: Token) -> None:
        handler = _HANDLERS.get(token.type)
        if handler is not None:
            handler(self, token)

    def append(self, text: str, style: TextStyle | None = None) -> None:
        if not text:
            return
        if self.runs and self._separator:
            self.runs.append(
                StyledRun(self._separator, TextStyle(quote=self._style.quote and self.runs[-1].style.quote))
            )
        self._separator = ""
        self.runs.append(StyledRun(text, style or self._style))

    def _add_block(self, text: str, style: TextStyle) -> None:
        self.break_block()
        self.append(text.rstrip("\n"), style)
        self.break_block()

    def break_block(self, _: Token | None = None) -> None:
        """End the current block."""
        if self.runs:
            self._separator = max(self._separator, "\n" if self._list_numbers else "\n\n", key=len)

    def open_heading(self, _: Token) -> None:
        self.break_block()
        self._styles.append(replace(self._style, bold=True))

    def close_styled_block(self, _: Token) -> None:
        self._styles.pop()
        self.break_block()

    def open_quote(self, _: Token) -> None:
        self.break_block()
        self._styles.append(replace(self._style, quote=True))

    def open_list(self, token: Token) -> None:
        self.break_block()
        start = token.attrGet("start")
        self._list_numbers.append(int(start if start is not None else 1) if token.type == "ordered_list_open" else None)

    def close_list(self, _: Token) -> None:
        self._list_numbers.pop()
        self.break_block()

    def open_item(self, _: Token) -> None:
        self.break_block()
        number = self._list_numbers[-1]
        if number is not None:
            self._list_numbers[-1] = number + 1
        mark = BULLET if number is None else f"{number}."
        self.append(f"{'   ' * (len(self._list_numbers) - 1)}{mark} ")

    def open_paragraph(self, _: Token) -> None:
        # The first paragraph of an item follows its marker on the same line.
        if not (self._list_numbers and self.runs and self.runs[-1].text.endswith((f"{BULLET} ", ". "))):
            self.break_block()

    def add_inline(self, token: Token) -> None:
        for child in token.children or ():
            self._handle(child)

    def add_text(self, token: Token) -> None:
        self.append(token.content)

    def add_inline_code(self, token: Token) -> None:
        self.append(token.content, replace(self._style, code=True))

    def add_code_block(self, token: Token) -> None:
        # The rest of the info string becomes the first line of the block.
        language, _, rest = token.info.strip().partition(" ")
        if not _LANGUAGE.fullmatch(language) or not token.content.strip():
            language, rest = "", token.info.strip()
        self._add_block(
            f"{rest}\n{token.content}" if rest else token.content, replace(self._style, code_block_language=language)
        )

    def add_line_break(self, _: Token) -> None:
        self.append("\n")

    def add_horizontal_rule(self, _: Token) -> None:
        self._add_block(HORIZONTAL_RULE, self._style)

    def push_style(self, token: Token) -> None:
        current = self._style
        self._styles.append(
            replace(
                current,
                bold=current.bold or token.type == "strong_open",
                italic=current.italic or token.type == "em_open",
                strikethrough=current.strikethrough or token.type == "s_open",
            )
        )

    def pop_style(self, _: Token) -> None:
        self._styles.pop()

    def open_link(self, token: Token) -> None:
        url = str(token.attrGet("href") or "")
        self._urls.append((url, str(token.attrGet("title") or ""), len(self.runs)))
        self._styles.append(replace(self._style, link=url) if _is_linkable(url) else self._style)

    def close_link(self, _: Token) -> None:
        # A title, and a URL that cannot be a link, follow the text.
        url, title, begin = self._urls.pop()
        self._styles.pop()
        if title:
            self.append(f" ({title})")
        if not _is_linkable(url) and url not in "".join(run.text for run in self.runs[begin:]):
            self.append(f" ({url})")

    def add_image(self, token: Token) -> None:
        url = str(token.attrGet("src") or "")
        label = token.content or url
        if self._style.link is None and _is_linkable(url):
            self.append(label, replace(self._style, link=url))
        else:
            self.append(label if url in label else f"{label} ({url})")


_HANDLERS: dict[str, Callable[[_RunBuilder, Token], None]] = {
    "paragraph_open": _RunBuilder.open_paragraph,
    "paragraph_close": _RunBuilder.break_block,
    "heading_open": _RunBuilder.open_heading,
    "heading_close": _RunBuilder.close_styled_block,
    "blockquote_open": _RunBuilder.open_quote,
    "blockquote_close": _RunBuilder.close_styled_block,
    "bullet_list_open": _RunBuilder.open_list,
    "ordered_list_open": _RunBuilder.open_list,
    "bullet_list_close": _RunBuilder.close_list,
    "ordered_list_close": _RunBuilder.close_list,
    "list_item_open": _RunBuilder.open_item,
    "inline": _RunBuilder.add_inline,
    "text": _RunBuilder.add_text,
    "text_special": _RunBuilder.add_text,
    "html_inline": _RunBuilder.add_text,
    "code_inline": _RunBuilder.add_inline_code,
    "fence": _RunBuilder.add_code_block,
    "code_block": _RunBuilder.add_code_block,
    "hardbreak": _RunBuilder.add_line_break,
    "softbreak": _RunBuilder.add_line_break,
    "hr": _RunBuilder.add_horizontal_rule,
    "strong_open": _RunBuilder.push_style,
    "strong_close": _RunBuilder.pop_style,
    "em_open": _RunBuilder.push_style,
    "em_close": _RunBuilder.pop_style,
    "s_open": _RunBuilder.push_style,
    "s_close": _RunBuilder.pop_style,
    "link_open": _RunBuilder.open_link,
    "link_close": _RunBuilder.close_link,
    "image": _RunBuilder.add_image,
}


def _is_linkable(url: str) -> bool:
    return len(url) <= MAX_URL_LENGTH and _LINKABLE.match(url) is not None


def _table_rows(tokens: Sequence[Token]) -> list[list[str]]:
    """Return the cell texts of a table by row; a link in a cell is followed by its URL."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            cell = _RunBuilder()
            cell.add_inline(token)
            texts = [
                run.text if not run.style.link or run.style.link in run.text else f"{run.text} ({run.style.link})"
                for run in cell.runs
            ]
            rows[-1].append("".join(texts).replace("\n", " "))
    return rows


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


def render_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the table as text: one line per row, aligned columns, a line below the first row. Pure."""
    columns = max((len(row) for row in rows), default=0)
    widths = [
        min(max((len(row[column]) for row in rows if column < len(row)), default=0), MAX_COLUMN_WIDTH)
        for column in range(columns)
    ]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    if lines:
        lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)
