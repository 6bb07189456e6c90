"""Error reporting: one line per problem on standard error, and the exit codes."""

import errno
import logging
import os
import re
import sys
import traceback

from sophon.errors import SettingsError, SophonError
from sophon.extras import describe_missing_package
from sophon.security import describe_error, redact
from sophon_hosting.rendering.control_characters import to_single_line

EXIT_FAILURE, EXIT_USAGE_ERROR, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 2, 130, 143
"""Exit codes; the last two are 128 + signal number, as shells use them for SIGINT and SIGTERM."""

MAX_ERROR_CHARACTERS = 600

DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)


def report_error(error: Exception, *, debug: bool = False) -> int:
    """Write an error to standard error and return the exit code; write a traceback only with `debug`."""
    if isinstance(error, BrokenPipeError):
        _discard_stdout()
        return EXIT_FAILURE
    if isinstance(error, OSError) and error.errno in DISK_IS_FULL:
        _discard_stdout()
    if debug:
        sys.stderr.write(redact("".join(traceback.format_exception(error))))
    for line in error_lines(error):
        write_error(line)
    return EXIT_USAGE_ERROR if _is_usage_error(error) else EXIT_FAILURE


def write_error(line: str) -> None:
    """Write one error line to standard error."""
    sys.stderr.write(f"error: {to_single_line(line, MAX_ERROR_CHARACTERS)}\n")


def error_lines(error: Exception) -> list[str]:
    """Return the lines that describe an error: one per problem for a SettingsError, one for every other error."""
    if isinstance(error, SettingsError):
        return error.problems
    if isinstance(error, SophonError):
        return [str(error) or type(error).__name__]
    if _is_usage_error(error):
        return [_usage_error_line(error)]
    if (typer := sys.modules.get("typer")) is not None and isinstance(error, typer.Abort):
        return ["aborted"]
    if isinstance(error, OSError) and error.errno in DISK_IS_FULL:
        return [f"{error.filename or 'the output'} cannot be written: {error.strerror}"]
    if (missing := describe_missing_package(error)) is not None:
        return [missing]
    return [f"unexpected {type(error).__name__}: {describe_error(error)}; run it with --debug for the traceback"]


def configure_cli_logging(*, debug: bool) -> None:
    """Log to standard error with `debug`, discard logs without: problems are reported as error lines."""
    if debug:
        handler = logging.StreamHandler()
        handler.setFormatter(_RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[handler])
    else:
        logging.basicConfig(handlers=[logging.NullHandler()])


class _RedactingFormatter(logging.Formatter):
    """Formatter whose lines and tracebacks hold no secret."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def _is_usage_error(error: Exception) -> bool:
    """Return whether typer raised it; where typer is not loaded, it has raised nothing."""
    typer = sys.modules.get("typer")
    # The module of the base class differs between versions, so it is taken from a subclass.
    return typer is not None and isinstance(error, typer.BadParameter.__bases__[0])


def _usage_error_line(error: Exception) -> str:
    message = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "sophon"
    sentence = f"{message[:1].lower()}{message[1:].rstrip('.')}"
    for pattern, plain in _PLAIN_SENTENCES:
        sentence = pattern.sub(plain, sentence)
    sentence, separator, near = sentence.partition(". Did you mean ")
    sentence = sentence.replace("no such command", "there is no command", 1)
    if separator:
        sentence += "; did you mean " + near.replace("'", "")
    if sentence == "missing command" and context is not None:
        sentence += f"; commands: {', '.join(context.command.list_commands(context))}"
    return f"{sentence} (see {path} --help)" if sentence.endswith("?") else f"{sentence}; see {path} --help"


_PLAIN_SENTENCES = (
    (
        re.compile(r"Input should be a valid integer.*|'.*' is not a valid int(?:eger)?(?: range)?"),
        "it must be a whole number",
    ),
    (re.compile(r"Input should be a valid number.*|'.*' is not a valid float(?: range)?"), "it must be a number"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"it must be at least \1"),
    (re.compile(r"Input should be less than or equal to (\S+)"), r"it must be at most \1"),
    (re.compile(r"Input should be "), "it must be "),
    (re.compile(r"Value error, embedded null byte"), "it must not contain a null character"),
    (re.compile(r"Value error, "), ""),
    (re.compile(r"got unexpected extra arguments?(?:\(s\))? \((.*)\)"), r"this is too much: \1"),
)
"""Sentences of typer's own checks, and what is written instead."""


def _discard_stdout() -> None:
    """Redirect standard output to the null device, so that the last flush of the interpreter cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
