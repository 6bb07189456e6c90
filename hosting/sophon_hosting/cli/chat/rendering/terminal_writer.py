"""Terminal writer: text, dim lines, prompts, and a status line that the next output erases."""

from collections.abc import Iterable

from rich.console import Console

from sophon_hosting.cli.chat.rendering.markdown_stream import MarkdownStream, shows_markdown
from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line

ERASE_LINE = "\r\x1b[2K"
MARGIN = "  "
STATUS_MARGIN = 6
"""Columns of the status line that stay free, so that no terminal wraps it."""


class TerminalWriter:
    """Writes to a console; markup in texts is never interpreted, and control characters are escaped."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.in_line = False
        """Whether the cursor stands behind text."""
        self.in_answer = False
        """Whether that text belongs to the answer."""
        self._has_status = False
        self._markdown = MarkdownStream(console) if shows_markdown(console) else None

    def write_text(self, text: str) -> None:
        """Write text of the answer; the next text may continue its line. A terminal shows its Markdown."""
        self.erase_status()
        if self._markdown is not None:
            self._markdown.write(text)
            self.in_line = self._markdown.is_in_line
            return
        escaped = escape_control_characters(text)
        self.console.out(escaped, end="", highlight=False)
        self.in_line = not escaped.endswith("\n")

    def write_dim_line(self, line: str, *, margin: str = MARGIN) -> None:
        """Write one dim line, cut to the width of a terminal."""
        self.end_line()
        width = self.console.width - len(margin) if self.console.is_terminal else None
        self.console.out(margin + to_single_line(line, width), style="dim", highlight=False)

    def write_dim_lines(self, lines: Iterable[str]) -> None:
        """Write several dim lines without a margin."""
        for line in lines:
            self.write_dim_line(line, margin="")

    def write_lines(self, lines: Iterable[str], *, style: str | None = None) -> None:
        """Write whole lines with control characters escaped."""
        self.end_line()
        for line in lines:
            self.console.out(escape_control_characters(line), style=style, highlight=False)

    def write_prompt(self, text: str) -> None:
        """Write a prompt and leave the cursor behind it."""
        self.end_line()
        self.console.out(escape_control_characters(text), end="", highlight=False)
        self.console.file.flush()
        self.in_line = True

    def finish_prompt(self, text: str, *, echoed: bool) -> None:
        """End the prompt line; write the answer unless the terminal has echoed it."""
        if not echoed:
            self.console.out(escape_control_characters(text), highlight=False)
        self.in_line = False

    def end_line(self) -> None:
        """Erase the status line, and start a new line if the cursor stands behind text."""
        self.erase_status()
        if self._markdown is not None and self._markdown.finish():
            self.in_line = False
        if self.in_line:
            self.console.out("")
            self.in_line = False
        self.in_answer = False

    def show_status(self, text: str) -> None:
        """Show the current activity, on a terminal only."""
        if not self.console.is_terminal or self.console.is_dumb_terminal or self.in_line:
            return
        self.erase_status()
        self.console.out(
            f"{MARGIN}{to_single_line(text, self.console.width - STATUS_MARGIN)} …",
            end="",
            style="dim",
            highlight=False,
        )
        self.console.file.flush()
        self._has_status = True

    def erase_status(self) -> None:
        """Erase the status line."""
        if self._has_status:
            self.console.file.write(ERASE_LINE)
            self._has_status = False
