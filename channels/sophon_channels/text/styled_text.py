"""Styled text as a sequence of runs, between markdown and a platform's markup; `message_splitting` splits it."""

from collections.abc import Iterable

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TextStyle:
    """Style of a run. `code_block_language` is the language of a code block ("" if unknown), None outside one; `link`
    is the URL of a link.
    """

    bold: bool = False
    italic: bool = False
    strikethrough: bool = False
    code: bool = False
    quote: bool = False
    code_block_language: str | None = None
    link: str | None = None


PLAIN_STYLE = TextStyle()
"""The style of unformatted text."""


@dataclass(frozen=True, slots=True)
class StyledRun:
    """A stretch of text in one style."""

    text: str
    style: TextStyle = PLAIN_STYLE


def to_plain_text(runs: Iterable[StyledRun]) -> str:
    """Return the text without styles."""
    return "".join(run.text for run in runs)
