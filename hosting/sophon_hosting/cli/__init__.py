"""Command-line interface: the program `sophon`."""

import sys
from collections.abc import Sequence

from sophon_hosting.cli.direct_serve import run_serve


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit the process.

    Exit codes: 0 for success, 2 for a usage error, 130 after Ctrl-C, 143 after SIGTERM, 1 for every other error.
    `arguments` defaults to `sys.argv[1:]`.
    """
    words = sys.argv[1:] if arguments is None else arguments
    code = run_serve(words)
    if code is None:
        from sophon_hosting.cli.app import run_command_line  # lazy: a host needs no typer

        code = run_command_line(words)
    sys.exit(code)
