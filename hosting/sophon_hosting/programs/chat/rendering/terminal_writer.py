"""Terminal writer: text, dim lines, prompts, and a status line that the next output erases."""

from collections.abc import Iterable, Sequence

from rich.console import Console

from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line

ERASE_LINE = "\r\x1b[2K"

MARGIN = "  "

STATUS_MARGIN = 6
"""Columns of the status line that stay free, so that no terminal wraps it."""

ERASE_BELOW = "\x1b[J"

LARGE_BLOCK_CHARACTERS = 2000
"""A block of more characters is rendered at the ends of its lines only: a long one costs milliseconds."""


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


def shows_markdown(console: Console) -> bool:
    """Return whether a console can show rendered Markdown: a terminal with styles, whose cursor can move.

    The block that is not finished (paragraph, list, table, code) is rendered anew with each piece of text, and only the
    lines that have changed are written again. Finished blocks stay as they are.
    """
    return console.is_terminal and console.color_system is not None and not console.is_dumb_terminal


class MarkdownStream:
    """One text of the agent. After each call the cursor stands behind what was written."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._source = ""
        """The text of the open block, and of what may follow it in the same piece."""
        self._shown: list[str] = []
        """The lines of the open block as they are on the screen."""
        self._follows_block = False

    @property
    def is_in_line(self) -> bool:
        """Whether the cursor stands behind text."""
        return bool(self._shown)

    def write(self, text: str) -> None:
        """Add text and show it."""
        self._source += escape_control_characters(text)
        if len(self._source) > LARGE_BLOCK_CHARACTERS and "\n" not in text:
            return
        self._close_finished_blocks()
        self._draw()

    def finish(self) -> bool:
        """Show what is left, and end the line; the next text begins a new block. Return whether there was a text."""
        had_text = bool(self._source or self._follows_block)
        if had_text:
            self._close_finished_blocks()
            self._draw()
            self._close_block()
            self._source, self._follows_block = "", False
        return had_text

    def _close_finished_blocks(self) -> None:
        """Write the blocks that another one follows, for good."""
        from sophon_hosting.programs.chat.rendering.markdown_blocks import find_last_block  # lazy: see `_draw`

        at = find_last_block(self._source)
        if not at:
            return
        open_block, self._source = self._source[at:], self._source[:at]
        self._draw()
        self._close_block()
        self._source, self._follows_block = open_block, True

    def _close_block(self) -> None:
        if self._shown:
            self._console.file.write("\n")
            self._shown = []

    def _draw(self) -> None:
        """Bring the lines of the block on the screen up to date."""
        from sophon_hosting.programs.chat.rendering.markdown_blocks import (
            render_lines,  # lazy: Markdown and highlighting
        )

        lines = render_lines(self._console, self._source) if self._source.strip() else []
        if not lines and not self._shown:
            return
        if self._follows_block and lines:
            lines.insert(0, "")
        self._console.file.write(find_update(self._shown, lines, self._console.height))
        self._console.file.flush()
        self._shown = lines


def find_update(shown: Sequence[str], lines: Sequence[str], height: int) -> str:
    """Return what makes `lines` of the `shown` ones, with the cursor at the end of the last one of each.

    Lines that have left the screen, of `height` lines, are not changed any more.
    """
    same = 0
    while same < min(len(shown), len(lines)) and shown[same] == lines[same]:
        same += 1
    if same == len(shown) <= len(lines):
        added = lines[same:]
        return "".join((*("\n" for _ in shown[:1] if added), "\n".join(added)))
    # The last line is written again if others below it go, to leave the cursor behind it.
    same = max(min(same, len(lines) - 1), len(shown) - height, 0)
    up = len(shown) - 1 - same
    if not up and same < len(lines) and lines[same].startswith(shown[same]):
        return "\n".join((lines[same][len(shown[same]) :], *lines[same + 1 :]))
    move_up = f"\x1b[{up}A" if up else ""
    return f"\r{move_up}{ERASE_BELOW}" + "\n".join(lines[same:])
