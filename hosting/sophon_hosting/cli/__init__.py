"""Command-line interface: the program `sophon`."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

DIRECT_SERVE: Final = "sophon_hosting.programs.direct_serve"
"""Module that runs `sophon serve` with plain options; imported by its path, as every command is."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit the process.

    Exit codes: 0 for success, 2 for a usage error, 130 after Ctrl-C, 143 after SIGTERM, 1 for every other error.
    `arguments` defaults to `sys.argv[1:]`.
    """
    words = sys.argv[1:] if arguments is None else arguments
    open_closed_streams()
    try:
        code = import_module(DIRECT_SERVE).run_serve(words)
        if code is None:
            from sophon_hosting.cli.app import run_command_line  # lazy: a host needs no typer

            code = run_command_line(words)
    except ModuleNotFoundError as error:
        code = _report_missing_package(error)
    sys.exit(code)


def _report_missing_package(error: ModuleNotFoundError) -> int:
    """Write one line for a program without the packages of a host. Raises the error if it names any other module."""
    from sophon.extras import find_extra, install_command  # lazy: `--help` imports nothing of `sophon`

    if (extra := find_extra(error)) is None:
        raise error
    sys.stderr.write(f"error: the command `sophon` needs the package {error.name}: {install_command(extra)}\n")
    return 1


def open_closed_streams() -> None:
    """Open the null device in place of closed standard streams: a file opened next would get their number, and output.

    The numbers come first, because an open file gets the lowest free one.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        from sophon_hosting.cli.closed_output import ClosedOutput  # lazy: rare

        sys.stdout = ClosedOutput()
    for name, mode in (("stdin", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends
