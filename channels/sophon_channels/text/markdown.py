"""A model's markdown as runs of text with looks (CommonMark, tables and strikethrough; HTML in it is text)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sophon_channels.fields import storable
from sophon_channels.text.runs import PLAIN, Look, Run
from sophon_channels.text.tables import table

_LINKABLE = re.compile(r"(?:https?://[^/]|tg://.)", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
LONGEST_ADDRESS = 2048
"""Characters; a longer one is shown as text."""

DEEPEST = 60
"""Levels of nesting; a text that goes deeper is shown as it was written."""

RULE = "———"
BULLET = "•"


def to_runs(markdown: str) -> list[Run]:
    """The text as it is to look; every word of the markdown is in it. Pure."""
    text = storable(markdown)
    tokens = _parser().parse(text)
    if any(token.level >= DEEPEST - 2 for token in tokens):
        return [Run(text)]  # the parser leaves out what is nested deeper
    writer = _Writer()
    writer.blocks(tokens)
    return writer.runs


@cache
def _parser() -> MarkdownIt:
    """Without reference definitions: a line of one would vanish."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST})
    return parser.enable(["table", "strikethrough"]).disable("reference")


class _Writer:
    """Writes tokens down as runs; `look` is what holds where it stands."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._looks: list[Look] = [PLAIN]
        self._lists: list[int | None] = []
        self._gap = ""
        self._addresses: list[tuple[str, str, int]] = []

    def blocks(self, tokens: Sequence[Token]) -> None:
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.type == "table_open":
                end = next(i for i in range(position, len(tokens)) if tokens[i].type == "table_close")
                self._block(table(_rows(tokens[position:end])), replace(self._look, pre=""))
                position = end
            else:
                self._visit(token)
            position += 1

    @property
    def _look(self) -> Look:
        return self._looks[-1]

    def _visit(self, token: Token) -> None:
        handler = _HANDLERS.get(token.type)
        if handler is not None:
            handler(self, token)

    def write(self, text: str, look: Look | None = None) -> None:
        if not text:
            return
        if self.runs and self._gap:
            self.runs.append(Run(self._gap, Look(quote=self._look.quote and self.runs[-1].look.quote)))
        self._gap = ""
        self.runs.append(Run(text, look or self._look))

    def _block(self, text: str, look: Look) -> None:
        self.part()
        self.write(text.rstrip("\n"), look)
        self.part()

    def part(self, _: Token | None = None) -> None:
        """The next thing begins a block of its own."""
        if self.runs:
            self._gap = max(self._gap, "\n" if self._lists else "\n\n", key=len)

    def heading(self, _: Token) -> None:
        self.part()
        self._looks.append(replace(self._look, bold=True))

    def leave(self, _: Token) -> None:
        self._looks.pop()
        self.part()

    def quotation(self, _: Token) -> None:
        self.part()
        self._looks.append(replace(self._look, quote=True))

    def list_open(self, token: Token) -> None:
        self.part()
        start = token.attrGet("start")
        self._lists.append(int(start if start is not None else 1) if token.type == "ordered_list_open" else None)

    def list_close(self, _: Token) -> None:
        self._lists.pop()
        self.part()

    def item(self, _: Token) -> None:
        self.part()
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number + 1
        mark = BULLET if number is None else f"{number}."
        self.write(f"{'   ' * (len(self._lists) - 1)}{mark} ")

    def paragraph(self, _: Token) -> None:
        """An item's first paragraph stands behind its mark."""
        if not (self._lists and self.runs and self.runs[-1].text.endswith((f"{BULLET} ", ". "))):
            self.part()

    def inline(self, token: Token) -> None:
        for child in token.children or ():
            self._visit(child)

    def words(self, token: Token) -> None:
        self.write(token.content)

    def code(self, token: Token) -> None:
        self.write(token.content, replace(self._look, code=True))

    def fence(self, token: Token) -> None:
        """What stands behind the language is told in the block's first line."""
        language, _, rest = token.info.strip().partition(" ")
        if not _LANGUAGE.fullmatch(language) or not token.content.strip():
            language, rest = "", token.info.strip()
        self._block(f"{rest}\n{token.content}" if rest else token.content, replace(self._look, pre=language))

    def line(self, _: Token) -> None:
        self.write("\n")

    def rule(self, _: Token) -> None:
        self._block(RULE, self._look)

    def wear(self, token: Token) -> None:
        look = self._look
        self._looks.append(
            replace(
                look,
                bold=look.bold or token.type == "strong_open",
                italic=look.italic or token.type == "em_open",
                strike=look.strike or token.type == "s_open",
            )
        )

    def take_off(self, _: Token) -> None:
        self._looks.pop()

    def link_open(self, token: Token) -> None:
        address = str(token.attrGet("href") or "")
        self._addresses.append((address, str(token.attrGet("title") or ""), len(self.runs)))
        self._looks.append(replace(self._look, link=address) if _is_linkable(address) else self._look)

    def link_close(self, _: Token) -> None:
        """A title, and an address that cannot be a link, are told behind the text."""
        address, title, begin = self._addresses.pop()
        self._looks.pop()
        if title:
            self.write(f" ({title})")
        if not _is_linkable(address) and address not in "".join(run.text for run in self.runs[begin:]):
            self.write(f" ({address})")

    def image(self, token: Token) -> None:
        address = str(token.attrGet("src") or "")
        shown = token.content or address
        if self._look.link is None and _is_linkable(address):
            self.write(shown, replace(self._look, link=address))
        else:
            self.write(shown if address in shown else f"{shown} ({address})")


_HANDLERS: dict[str, Callable[[_Writer, Token], None]] = {
    "paragraph_open": _Writer.paragraph,
    "paragraph_close": _Writer.part,
    "heading_open": _Writer.heading,
    "heading_close": _Writer.leave,
    "blockquote_open": _Writer.quotation,
    "blockquote_close": _Writer.leave,
    "bullet_list_open": _Writer.list_open,
    "ordered_list_open": _Writer.list_open,
    "bullet_list_close": _Writer.list_close,
    "ordered_list_close": _Writer.list_close,
    "list_item_open": _Writer.item,
    "inline": _Writer.inline,
    "text": _Writer.words,
    "text_special": _Writer.words,
    "html_inline": _Writer.words,
    "code_inline": _Writer.code,
    "fence": _Writer.fence,
    "code_block": _Writer.fence,
    "hardbreak": _Writer.line,
    "softbreak": _Writer.line,
    "hr": _Writer.rule,
    "strong_open": _Writer.wear,
    "strong_close": _Writer.take_off,
    "em_open": _Writer.wear,
    "em_close": _Writer.take_off,
    "s_open": _Writer.wear,
    "s_close": _Writer.take_off,
    "link_open": _Writer.link_open,
    "link_close": _Writer.link_close,
    "image": _Writer.image,
}


def _is_linkable(address: str) -> bool:
    return len(address) <= LONGEST_ADDRESS and _LINKABLE.match(address) is not None


def _rows(tokens: Sequence[Token]) -> list[list[str]]:
    """The texts of a table's cells, by row; a link in one is told with its address."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            cell = _Writer()
            cell.inline(token)
            told = [
                run.text if not run.look.link or run.look.link in run.text else f"{run.text} ({run.look.link})"
                for run in cell.runs
            ]
            rows[-1].append("".join(told).replace("\n", " "))
    return rows
