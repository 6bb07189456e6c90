"""The command line: `sophon`."""

import sys
from collections.abc import Sequence

from sophon_hosting.cli.app import run


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process: 0 when it went well, 2 for a mistake on the command line, 130 for Ctrl-C,
    143 for SIGTERM, 1 for the rest. `arguments` are those of the process by default.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))
