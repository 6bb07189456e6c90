"""JSON lines: the files that commands export and import."""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from sophon.errors import InputError
from sophon_hosting.cli.console.output import open_new_file, write_notice
from sophon_hosting.json_text import encode_json


def write_json_lines(items: Sequence[Any], file: Path | None, *, what: str) -> None:
    """Write items to standard output, or to a new file that only its owner reads; `what` they are, for the notice.

    Raises InputError for a file that exists or cannot be written.
    """
    lines = "".join(f"{encode_json(each)}\n" for each in items)
    if file is None:
        sys.stdout.write(lines)
        return
    with open_new_file(file) as stream:
        stream.write(lines)
    write_notice(f"{len(items)} {what} were written to {file}")


def read_json_lines(file: Path) -> list[object]:
    """Return the items of a file, without empty lines. Raises InputError that names the first line that is not JSON."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no text in UTF-8") from error
    items: list[object] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                items.append(_parse_line(line))
            except orjson.JSONDecodeError as error:
                raise InputError(f"{file}, line {number}: not JSON: {error.msg}; nothing was imported") from None
    return items


def _parse_line(line: str) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        with suppress(ValueError, RecursionError):
            return json.loads(line)  # it takes the escape sequence of a lone surrogate, which an export may have
        raise
