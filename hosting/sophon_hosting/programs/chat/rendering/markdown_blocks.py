"""Markdown blocks as lines for a terminal: rich's rendering, with plain headings, links and code."""

from collections.abc import Sequence
from io import StringIO
from typing import Any, ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, ImageItem, Markdown, MarkdownElement
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from sophon_hosting.rendering.control_characters import escape_control_characters

CODE_THEME = "ansi_dark"
"""Pygments theme of the terminal's own sixteen colours, which fit its background."""

STYLES = Theme({"markdown.code": "cyan", "markdown.table.header": "bold", "markdown.table.border": "dim"})

_PARSER = MarkdownIt().enable("strikethrough").enable("table")


class PlainHeading(Heading):
    """Heading: bold, on the left, the first two levels underlined."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it."""
        text = self.text
        text.justify = "left"
        text.stylize("bold underline" if self.tag in ("h1", "h2") else "bold")
        yield text


class PlainCodeBlock(CodeBlock):
    """Code: highlighted if its language is known, indented, and without a background, so that it is easy to copy."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it."""
        code = str(self.text).rstrip()
        syntax = Syntax(code, self.lexer_name, theme=CODE_THEME, background_color="default", word_wrap=True, tab_size=4)
        yield syntax


class PlainImage(ImageItem):
    """Image: its description."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it."""
        yield Text.assemble("[image: ", self.text, "] ")


class TerminalMarkdown(Markdown):
    """Markdown whose control characters are escaped after entities were resolved; links show where they lead."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": PlainHeading,
        "fence": PlainCodeBlock,
        "code_block": PlainCodeBlock,
        "image": PlainImage,
    }

    def __init__(self, markup: str) -> None:
        super().__init__(markup, code_theme=CODE_THEME, hyperlinks=False, inline_code_theme=None)
        sanitize(self.parsed)


def render_lines(console: Console, source: str) -> list[str]:
    """Return the lines of a Markdown text, with the escape sequences of their styles."""
    width = max(console.width - 1, 10)  # the last column stays free, so that no terminal wraps a line by itself
    out = Console(
        file=StringIO(),
        width=width,
        force_terminal=True,
        color_system=console.color_system,  # type: ignore[arg-type] # one of the names that it takes
        legacy_windows=False,
        highlight=False,
        emoji=False,
        no_color=console.no_color,
        theme=STYLES,
        _environ={},
    )
    with out.capture() as captured:
        out.print(TerminalMarkdown(source), end="")
    lines = [line.rstrip() for line in captured.get().split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def find_last_block(source: str) -> int:
    """Return where the last block begins: what is before it is finished. 0 if there is one block only."""
    starts = [token.map[0] for token in _PARSER.parse(source) if not token.level and token.map is not None]
    if len(starts) < 2 or not starts[-1]:
        return 0
    return sum(map(len, source.splitlines(keepends=True)[: starts[-1]]))


def sanitize(tokens: Sequence[Token]) -> None:
    """Escape the control characters that entities of Markdown (`&#27;`) have become."""
    for token in tokens:
        token.content = escape_control_characters(token.content)
        token.info = escape_control_characters(token.info)
        attributes: dict[str, Any] = token.attrs
        token.attrs = {name: escape_control_characters(str(value)) for name, value in attributes.items()}
        sanitize(token.children or ())
