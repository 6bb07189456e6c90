"""Set-up of a channel from the command line: answers and their checks, private files for secrets, the settings file."""

import getpass
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from sophon._python.private_files import PRIVATE_FILE
from sophon.errors import InputError
from sophon.security.redaction.text_redaction import redact
from sophon.settings import Secret
from sophon.snapshots.link_safe_files import FileContent, replace_file
from sophon_channels.contract import SelfTestResult
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_file import change_settings_file, find_key, find_settings_file

MAX_ATTEMPTS: Final = 3
"""How often a value is asked for on a terminal."""
KEYS_FOLDER: Final = "keys"
"""Folder beside the settings file with a file for each secret."""
REFERENCE: Final = "env:VARIABLE or file:PATH"

T = TypeVar("T")


class Answers:
    """Answers of a person at a terminal, of a pipe (a line for each question), and of the options of a command."""

    def __init__(self) -> None:
        self._reader = StdinReader()
        self.is_terminal = self._reader.is_interactive and sys.stdout.isatty()

    def ask(self, question: str, given: str | None, check: Callable[[str], T]) -> T:
        """Return the checked answer; a wrong one is asked for again on a terminal. Raises InputError."""
        if given is not None:
            return check(given.strip())
        return self._repeat(lambda: self._reader.read_line(question), question, check)

    def ask_secret(self, question: str, given: str | None, check: Callable[[str], T]) -> T:
        """As `ask`; a terminal does not show the answer, and an option is a reference. Raises InputError."""
        if given is not None:
            return check(resolve_reference(given))
        read = (lambda: getpass.getpass(question)) if self.is_terminal else lambda: self._reader.read_line(question)
        return self._repeat(read, question, check)

    def _repeat(self, read: Callable[[], str | None], question: str, check: Callable[[str], T]) -> T:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            answer = read()
            if answer is None:
                raise InputError(f"there is no answer to {question.strip().rstrip(':')!r}; --help shows the options")
            try:
                return check(answer.strip())
            except InputError as error:
                if attempt == MAX_ATTEMPTS or not self.is_terminal:
                    raise
                write_lines([str(error)])
        raise AssertionError("unreachable")


def resolve_reference(text: str) -> str:
    """Return the secret of a reference. The value itself is refused: a shell would keep it. Raises InputError."""
    kind, _, name = text.partition(":")
    if kind not in ("env", "file") or not name:
        raise InputError(f"a secret must be a reference on the command line: {REFERENCE}")
    secret = Secret(name, f"${kind}")
    value = secret.resolve(os.environ)
    if value is None:
        raise InputError(f"{secret.source_description} is missing or empty")
    return value


def check_ids(text: str) -> list[str]:
    """Return the ids in a text, separated by blanks or commas; they are digits. Raises InputError."""
    ids = text.replace(",", " ").split()
    for each in ids:
        if not (each.isascii() and each.lstrip("-").isdigit()):
            raise InputError(f"{each!r} is no id: one has digits only, and is not the name that a person chooses")
    return ids


def save_channel(
    options: GlobalOptions, section: str, values: dict[str, Any], secrets: dict[str, str], public_url: str | None
) -> Path:
    """Write each secret into a private file, and the section of a channel into the settings file; return that.

    `section` is the name below `Channels`. What else the section has stays. Raises InputError, SettingsError.
    """
    file = find_settings_file(options)
    folder = file.parent.resolve()
    references: dict[str, Any] = {}
    for name, value in secrets.items():
        path = f"{KEYS_FOLDER}/{section.lower()}_{name.lower()}"
        try:
            replace_file(folder, path, FileContent(f"{value}\n".encode(), PRIVATE_FILE))
        except OSError as error:
            raise InputError(f"{folder / path} cannot be written: {error.strerror or error}") from error
        references[name] = {"$file": path}

    def change(root: dict[str, Any]) -> None:
        channels = root.setdefault(find_key(root, "Channels"), {})
        entry = channels.setdefault(find_key(channels, section), {})
        for key, value in {"Enabled": True, **values, **references}.items():
            entry[find_key(entry, key)] = value
        if public_url is not None:
            root[find_key(root, "PublicUrl")] = public_url

    change_settings_file(file, change)
    load_cli_settings(options)  # says at once if the file as a whole is not valid
    return file


def check_public_url(options: GlobalOptions, url: str | None) -> None:
    """Raise SettingsError for a public URL that the settings do not take."""
    if url is not None:
        load_cli_settings(options, [f"PublicUrl={url}"])


def describe(results: Sequence[SelfTestResult]) -> list[str]:
    """Return a line for each result of a channel's self-test."""
    texts = [f"{each.summary}; {each.fix}" if each.fix else each.summary for each in results]
    return [redact(f"  {'ok' if each.ok else 'to do'}: {text}") for each, text in zip(results, texts, strict=True)]
