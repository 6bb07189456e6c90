"""Markdown on a terminal: whatever the pieces it arrives in, the screen shows the whole text rendered."""

import io
import re
import subprocess
import sys

import pytest
from rich.console import Console

from sophon.events import StreamChunk, ToolCallCompleted
from sophon.messages import Response
from sophon_hosting.cli.console.output import create_console
from sophon_hosting.programs.chat.rendering.terminal_renderer import TerminalRenderer
from sophon_hosting.programs.chat.rendering.terminal_writer import MarkdownStream, find_update

TEXT = """# Plan

Some **bold text**, *emphasis* and `code()`, in a paragraph that is longer than one line of this narrow screen.

- an item that is so long that it has to be wrapped onto another line
  - nested
- two

| name | what it does |
|---|---|
| first | something that takes more words than the column is wide |

```python
def double(x):
    return 2 * x
```

1. one
2. two

The end, with a [link](https://example.org).
"""

WIDTH = 48


class Screen:
    """What a terminal shows: text with CR, LF, cursor up and erase below; styles are dropped."""

    def __init__(self, sent: str) -> None:
        self.lines = [""]
        row = column = 0
        for part in re.findall(r"\x1b\[\d*[AJ]|\x1b\[[\d;]*m|[^\x1b]|\x1b", sent):
            if part == "\r":
                column = 0
            elif part == "\n":
                row, column = row + 1, 0
                self.lines += [""] * (row + 1 - len(self.lines))
            elif part.endswith("A") and len(part) > 1:
                row -= int(part[2:-1] or "1")
                assert row >= 0
            elif part.endswith("J") and len(part) > 1:
                self.lines = [*self.lines[:row], self.lines[row][:column]]
            elif not part.startswith("\x1b["):
                self.lines[row] = self.lines[row][:column].ljust(column) + part + self.lines[row][column + 1 :]
                column += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


def console(height: int = 200) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        width=WIDTH,
        height=height,
        color_system="standard",
        legacy_windows=False,
        _environ={"TERM": "xterm"},
    )


def sent_of(text: str, size: int, height: int = 200) -> str:
    screen = console(height)
    stream = MarkdownStream(screen)
    for at in range(0, len(text), size):
        stream.write(text[at : at + size])
    stream.finish()
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_marks_become_styles_and_lines_end_between_words() -> None:
    sent = sent_of(TEXT, len(TEXT))
    shown = Screen(sent).text
    assert "\x1b[1mbold text\x1b[0m" in sent
    for mark in ("**", "`", "|---", "# Plan", "[link]"):
        assert mark not in shown
    words = set(re.findall(r"[\w.()]+", TEXT))
    assert words - set(re.findall(r"[\w.()]+", shown)) == {"python", *(f"{each}." for each in (1, 2))}
    assert max(map(len, shown.splitlines())) < WIDTH
    assert " • an item" in shown


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20, 100])
def test_the_pieces_do_not_change_what_is_shown(size: int) -> None:
    assert Screen(sent_of(TEXT, size)).text == Screen(sent_of(TEXT, len(TEXT))).text


def test_text_is_shown_while_it_arrives() -> None:
    screen = console()
    stream = MarkdownStream(screen)
    assert isinstance(screen.file, io.StringIO)
    for text, expected in (("Some **bo", "Some **bo"), ("ld** w", "Some bold w"), ("ord", "Some bold word")):
        stream.write(text)
        assert Screen(screen.file.getvalue()).text == expected


def test_a_finished_block_is_not_written_again() -> None:
    sent = sent_of(TEXT, 1)
    assert sent.count("Plan") <= 2
    assert len(sent) < 60 * len(TEXT)


def test_no_escape_sequence_of_a_text_reaches_the_terminal() -> None:
    hostile = (
        "a \x1b]0;title\x07 &#27;[31m &#x9b;2J &#x202e;\n\n```\x1b[2J\n\x1b[2J&#27;\n```\n"
        '[x](http://a/\x1b[2J&#x9b; "&#x9b;") ![&#x9b;](b)\n'
    )
    for size in (1, len(hostile)):
        sent = sent_of(hostile, size)
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1a\x7f-\x9f\u202e]", sent)
        assert set(re.findall(r"\x1b[^\d\[]*\[?[\d;]*([A-Za-z\]])", sent)) <= {"m", "A", "J"}
        assert not re.search(r"\x1b\[2J|\x1b\[31m", sent)


def test_lines_above_the_screen_are_left_as_they_are() -> None:
    assert find_update(["a", "b", "c", "d"], ["X", "b", "c", "d!"], 2) == "\r\x1b[1A\x1b[Jc\nd!"
    for text in ("**" + "word " * 400 + "**", "\n".join(f"- item {number}" for number in range(60))):
        ups = [int(each) for each in re.findall(r"\x1b\[(\d+)A", sent_of(text, 5, height=6))]
        assert all(each < 6 for each in ups)


def test_a_long_block_is_rendered_line_by_line() -> None:
    text = "```python\n" + "x = 'some value'\n" * 300 + "```\n"
    assert Screen(sent_of(text, 4)).text == Screen(sent_of(text, len(text))).text


def view(screen: Console, *pieces: str) -> str:
    renderer = TerminalRenderer(screen)
    renderer.start_turn()
    for piece in pieces:
        renderer.emit(StreamChunk(epoch=1, text=piece))
    renderer.emit(
        ToolCallCompleted(run_id="r", call_id="1", tool="clock", outcome="completed", duration_ms=3, result="2")
    )
    renderer.emit(StreamChunk(epoch=1, text="**Done**"))
    renderer.finish_turn(Response("".join(pieces) + "**Done**"), "main")
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_other_lines_stand_between_the_texts() -> None:
    shown = Screen(view(console(), "Let me **see**", ".")).text.splitlines()
    assert shown[:3] == ["Let me see.", "  ✓ clock → 2 · 3 ms", "Done"]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_without_styles_the_text_is_plain(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FORCE_COLOR", "1")
    screen = create_console()
    screen.file = io.StringIO()
    shown = view(screen, "Let me **see**.")
    assert "Let me **see**." in shown
    assert "\x1b[1m" not in shown.replace("\x1b[1;", "")


def test_over_a_pipe_the_text_is_plain() -> None:
    assert "Let me **see**." in view(Console(file=io.StringIO(), width=WIDTH), "Let me **see**.")


def test_markdown_is_loaded_with_the_first_text_only() -> None:
    program = (
        "import sys, sophon_hosting.programs.chat.command; print({'rich.markdown', 'pygments'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
