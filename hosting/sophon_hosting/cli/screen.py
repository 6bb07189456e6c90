"""Where a command writes: standard output and standard error as consoles that obey NO_COLOR and any encoding."""

import io
import json
import os
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sophon_hosting.cli.visible import on_one_line, visible

UNBROKEN = 10_000
"""Columns of a table that no terminal cuts; it takes only what its cells need."""


def console(*, error: bool = False) -> Console:
    """A console that guesses nothing: no markup, no emoji names, no highlighting; no escapes at all with NO_COLOR."""
    stream: object = sys.stderr if error else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=sys.stderr if error else sys.stdout,
        markup=False,
        emoji=False,
        highlight=False,
        color_system=None if plain else "auto",
    )


def write_json(value: object) -> None:
    """One JSON document on standard output, in ASCII: any terminal and any pipe can take it."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def write_lines(lines: Iterable[str]) -> None:
    """Lines on standard output, safe for a terminal."""
    out = console()
    for line in lines:
        out.out(visible(line), highlight=False)
    sys.stdout.flush()


def note(line: str) -> None:
    """A line on standard error that is no mistake."""
    sys.stderr.write(f"{on_one_line(line)}\n")
    sys.stderr.flush()


def write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table without a frame; a column whose name ends in `#` holds numbers. Cells are made safe.

    The first column is never broken: it is what one copies. Over a pipe no cell is, whatever COLUMNS says.
    """
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(head):
        table.add_column(
            name.removesuffix("#"),
            justify="right" if name.endswith("#") else "left",
            overflow="fold",
            no_wrap=place == 0,
        )
    for row in rows:
        table.add_row(*(Text(on_one_line(cell)) for cell in row))
    out = console()
    if not out.is_terminal:
        out.width = UNBROKEN
    out.print(table)
