"""Console output: lines, JSON and tables on standard output, notices on standard error; respects NO_COLOR."""

import io
import json
import os
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from sophon._python.private_files import open_new_private_file
from sophon.errors import InputError
from sophon_hosting.rendering.control_characters import escape_control_characters, to_single_line

if TYPE_CHECKING:
    from rich.console import Console

UNLIMITED_WIDTH = 10_000
"""Width of a table that is not written to a terminal, in columns; a table takes only what its cells need."""


def create_console() -> "Console":
    """Create a rich console without markup, emoji names and highlighting; without any colour if NO_COLOR is set.

    Characters that the encoding of the stream lacks are replaced.
    """
    from rich.console import Console  # lazy: 10 % of the start of a host, which writes lines only

    _replace_unknown_characters(sys.stdout)
    no_color = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=sys.stdout,
        markup=False,
        emoji=False,
        highlight=False,
        color_system=None if no_color else "auto",
    )


def write_json(value: object, file: Path | None = None) -> None:
    """Write one JSON document to standard output, or to a new file that only its owner may read. Raises InputError.

    It is in ASCII, which every encoding can represent.
    """
    with nullcontext(sys.stdout) if file is None else open_new_file(file) as stream:
        stream.write(json.dumps(value, indent=2, default=str) + "\n")


@contextmanager
def open_new_file(path: Path) -> Generator[TextIO]:
    """Open a new file for writing that only its owner may read. Raises InputError also for what fails in the block."""
    try:
        with open_new_private_file(path) as file:
            yield file
    except FileExistsError:
        raise InputError(f"{path} exists already; choose another name") from None
    except OSError as error:
        name = error.filename or path
        failed = "written" if str(name) == str(path) else "read"  # the block may read what it writes from other files
        raise InputError(f"{name} cannot be {failed}: {error.strerror}") from error


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to standard output with control characters escaped."""
    _replace_unknown_characters(sys.stdout)
    for line in lines:
        sys.stdout.write(f"{escape_control_characters(line)}\n")
    sys.stdout.flush()


def write_result(value: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Write what a command found or did: as one JSON document, or as lines for people."""
    if as_json:
        write_json(value)
    else:
        write_lines(lines)


def fact_lines(facts: Mapping[str, object], width: int = 13) -> list[str]:
    """Return a line per fact, `label: value` in two columns; a fact without a value has none."""
    return [f"{label + ':':{width}}{value}" for label, value in facts.items() if value]


def write_rows(
    found: Iterable[object], header: Sequence[str], rows: Iterable[Sequence[str]], nothing: str, *, as_json: bool
) -> None:
    """Write a list: as one JSON document, or as a table; `nothing` is the line of an empty one."""
    listed = list(found)
    if as_json:
        write_json(listed)
    elif listed:
        write_table(header, rows)
    else:
        write_lines([nothing])


def write_notice(line: str) -> None:
    """Write a notice, which is not an error, as one line to standard error."""
    sys.stderr.write(f"{to_single_line(line)}\n")
    sys.stderr.flush()


def _replace_unknown_characters(stream: object) -> None:
    """Have a stream replace characters that its encoding lacks."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table without borders; a column whose name ends in `#` is right-aligned. Cells are escaped.

    The first column is never wrapped, because users copy it. Over a pipe no cell is wrapped, whatever COLUMNS says.
    """
    from rich.table import Table  # lazy: see `create_console`
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(header):
        table.add_column(
            name.removesuffix("#"),
            justify="right" if name.endswith("#") else "left",
            overflow="fold",
            no_wrap=index == 0,
        )
    for row in rows:
        table.add_row(*(Text(to_single_line(cell)) for cell in row))
    out = create_console()
    if not out.is_terminal:
        out.width = UNLIMITED_WIDTH
    out.print(table)
