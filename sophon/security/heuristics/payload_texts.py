"""Texts of an action's arguments, by the scope of the rules that look at them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sophon.security.action_types import find_paths
from sophon.security.assessed_arguments import CODE_ARGUMENTS, SHELL_ARGUMENTS
from sophon.security.commands.command_forms import find_command_forms

MAX_VALUES: Final = 20_000
"""Number of values in the arguments that are read; more of them are a finding by themselves."""

COMMAND_ARGUMENTS: Final = (*SHELL_ARGUMENTS, *CODE_ARGUMENTS)
"""Names of the arguments that hold a command or code."""

_COMMAND_ARGUMENT_SET: Final = frozenset(COMMAND_ARGUMENTS)

URL_ARGUMENTS: Final = ("url", "uri", "endpoint", "href")
"""Names of the arguments that hold a URL."""


class TooManyValues(ValueError):
    """Arguments with more values than are read, or that contain themselves."""


def find_texts(payload: object) -> Iterator[str]:
    """Yield all texts in the arguments, keys included. Raises TooManyValues."""
    pending, count = [payload], 0
    while pending:
        value = pending.pop()
        count += 1
        if count > MAX_VALUES:
            raise TooManyValues
        if isinstance(value, str):
            yield value
        elif isinstance(value, bytes | bytearray):
            yield value.decode("utf-8", "replace")
        elif isinstance(value, Mapping):
            pending += [*value.keys(), *value.values()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType] - JSON
        elif isinstance(value, list | tuple | set | frozenset):
            pending += value  # pyright: ignore[reportUnknownArgumentType] - JSON


def find_command_texts(action_type: str, payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the commands; of an action that executes commands, every text is one. An argv is joined."""
    if action_type != "execute_command" and _COMMAND_ARGUMENT_SET.isdisjoint(payload):
        return
    for name, value in payload.items():
        if name in COMMAND_ARGUMENTS or action_type == "execute_command":
            if isinstance(value, list | tuple):
                words: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON
                yield " ".join(str(word) for word in words)
            elif isinstance(value, str):
                yield value


HIDDEN_PROGRAM: Final = "\ue000"
"""Form of a command that may run any program, for a rule to match."""


def parse_command(text: str) -> Iterator[str]:
    """Yield the simple commands as the shell understands them, and the code that other interpreters get.

    Yields HIDDEN_PROGRAM for a command that may run any program.
    """
    forms = find_command_forms(text)
    yield from forms.texts
    yield from forms.code
    if forms.is_unread or (forms.is_hidden and forms.is_readable and any(mark in text for mark in "$`|*?[")):
        yield HIDDEN_PROGRAM


def find_path_texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths."""
    yield from find_paths(payload)


def find_url_texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URLs in the arguments that hold one."""
    for name in URL_ARGUMENTS:
        if isinstance(value := payload.get(name), str):
            yield value
