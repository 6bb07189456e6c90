"""Main function of a program that parses one file from outside (`parser_process`) within limits of its own."""

import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sophon.errors import InputError

MEMORY_BYTES: Final = 1024 * 1024 * 1024
"""Address space of the process."""
NICENESS: Final = 10
"""Priority below that of the host, whose users must not notice that a file is parsed."""


def run_parser(parse: Callable[[Path, Path], None], *, cpu_seconds: int, result_bytes: int) -> int:
    """Set the limits, parse the file of the command line into the other one, and return the exit code.

    An InputError of `parse`, or whatever else goes wrong, is printed as one sentence.
    """
    limits = {
        resource.RLIMIT_AS: MEMORY_BYTES,
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_FSIZE: result_bytes,
        resource.RLIMIT_CORE: 0,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    os.nice(NICENESS)
    source, target = map(Path, sys.argv[1:])
    try:
        parse(source, target)
    except InputError as error:
        reason = str(error)
    except MemoryError:
        reason = "reading it takes too much memory"
    except Exception as error:  # noqa: BLE001 - whatever a hostile file makes of a parser
        reason = f"it is damaged ({type(error).__name__})"
    else:
        return 0
    sys.stdout.write(reason)
    return 1
