"""`sophon serve` with plain options, without typer, which needs pydantic.

It buys 8 of 93 MB of a host that is ready, and 0.15 of its 1.05 s of CPU.

Whatever is not plain, as help or a mistake, goes to typer.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from sophon_hosting.cli.global_options import GlobalOptions, hoist_global_options, to_text

COMMAND = "serve"
SERVE_OPTIONS = ("--host", "--port", "--log")
NO_WORKER = "--no-worker"
MAX_PORT = 65_535
EXIT_INTERRUPTED = 130

Options = dict[str, list[str]]


def run_serve(arguments: Sequence[str]) -> int | None:
    """Run the host and return its exit code; None if the arguments are for typer. Errors are reported as there."""
    words = hoist_global_options(to_text(arguments))
    given = parse_serve_options(words)
    if given is None:
        return None
    settings, debug = given.get("--settings"), "--debug" in words
    options = GlobalOptions(Path(settings[-1]) if settings else None, tuple(given.get("--set", ())), debug)
    host, port, log = (given[name][-1] if name in given else None for name in SERVE_OPTIONS)
    try:
        from sophon_hosting.programs.serve_host import run_host  # lazy: a whole host

        return run_host(options, host, int(port) if port is not None else None, log, runs_turns=NO_WORKER not in given)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the outermost layer: it reports the error and ends the process
        from sophon_hosting.cli.error_reporting import report_error  # lazy: imports `sophon`

        return report_error(error, debug=debug)


def parse_serve_options(words: Sequence[str]) -> Options | None:
    """Return the values of the options by name, flags without one; None for anything but `serve` with plain options.

    `words` have the global options in front.
    """
    found: Options = {}
    pending = list(words)
    names: tuple[str, ...] = ("--settings", "--set")
    while pending:
        word = pending.pop(0)
        if word == COMMAND and names is not SERVE_OPTIONS:
            names = SERVE_OPTIONS
        elif word == "--debug" and names is not SERVE_OPTIONS:
            continue
        elif word == NO_WORKER and names is SERVE_OPTIONS:
            found[NO_WORKER] = []
        elif word in names and pending and not pending[0].startswith("-"):
            found.setdefault(word, []).append(pending.pop(0))
        else:
            return None
    is_plain = names is SERVE_OPTIONS and all(_is_port(each) for each in found.get("--port", ()))
    return found if is_plain else None


def _is_port(text: str) -> bool:
    return re.fullmatch("[0-9]{1,5}", text) is not None and int(text) <= MAX_PORT
