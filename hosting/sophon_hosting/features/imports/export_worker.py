"""Program that parses an export: `python -m ... FILE TARGET`. It writes `conversation_lines`."""

import sys
from pathlib import Path
from typing import Final

from sophon_hosting.features.imports.conversation_lines import write_conversations
from sophon_hosting.features.imports.export_file import MAX_FILE_BYTES, read_export
from sophon_hosting.parsing.parser_worker import run_parser

CPU_SECONDS: Final = 60
"""A file of the maximum size takes about ten."""


def parse_export(path: Path, target: Path) -> None:
    """Write the conversations of a file as lines. Raises InputError."""
    write_conversations(target, read_export(path.read_bytes()))


if __name__ == "__main__":
    sys.exit(run_parser(parse_export, cpu_seconds=CPU_SECONDS, result_bytes=4 * MAX_FILE_BYTES))
