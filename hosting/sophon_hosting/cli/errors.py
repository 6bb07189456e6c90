"""Mistakes on the command line: one clear line each on standard error, and an exit code."""

import logging
import os
import sys
import traceback

import typer

from sophon.errors import SettingsError, SophonError
from sophon_hosting.cli.visible import on_one_line

FAILED, MISUSED, INTERRUPTED, TERMINATED = 1, 2, 130, 143
"""Exit codes; the last two are those of a shell for SIGINT and SIGTERM."""

LONGEST = 600

# The root of all mistakes on typer's command line; its place differs between versions, so it is taken from a leaf.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]


def report(error: Exception, *, debug: bool = False) -> int:
    """Tell an error and give the exit code; a traceback only with `debug`."""
    if isinstance(error, BrokenPipeError):
        _nobody_reads()
        return FAILED
    if debug:
        sys.stderr.write("".join(traceback.format_exception(error)))
    for line in lines_of(error):
        tell(line)
    return MISUSED if isinstance(error, _UsageError) else FAILED


def tell(line: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"error: {on_one_line(line, LONGEST)}\n")


def lines_of(error: Exception) -> list[str]:
    """An error in words; settings have a line for every problem, everything else has one."""
    if isinstance(error, SettingsError):
        return error.problems
    if isinstance(error, SophonError):
        return [str(error) or type(error).__name__]
    if isinstance(error, _UsageError):
        return [_misuse(error)]
    if isinstance(error, typer.Abort):
        return ["stopped"]
    return [f"unexpected {type(error).__name__}: {error}; the same with --debug shows where"]


def set_up_logs(*, debug: bool) -> None:
    """Logs go to standard error with `debug` and nowhere without: what a person must know is told in lines."""
    if debug:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    else:
        logging.basicConfig(handlers=[logging.NullHandler()])


def _misuse(error: Exception) -> str:
    said = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "sophon"
    sentence = f"{said[:1].lower()}{said[1:].rstrip('.')}"
    if sentence == "missing command" and context is not None:
        sentence += f"; there are {', '.join(context.command.list_commands(context))}"
    return f"{sentence} (see {path} --help)" if sentence.endswith("?") else f"{sentence}; see {path} --help"


def _nobody_reads() -> None:
    """Whoever read our output has gone: say nothing, and let the interpreter's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
