"""Texts of an action's arguments, by the scope of the rules that look at them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sophon.security.action_types import find_paths
from sophon.security.commands.nested_scripts import find_all_commands

MAX_VALUES: Final = 20_000
"""Number of values in the arguments that are read; more of them are a finding by themselves."""

COMMAND_ARGUMENTS: Final = ("command", "cmd", "script", "code")
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


def parse_command(text: str) -> Iterator[str]:
    """Yield the simple commands as the shell understands them: `r''m -r -f` is `rm -r -f`. Yields nothing for what
    cannot be parsed.
    """
    for command in find_all_commands(text).commands:
        words = " ".join(word.text for word in command.words)
        redirections = " ".join(f"{each.operator} {each.target.text}" for each in command.redirections)
        yield f"{words} {redirections}".strip()


def find_path_texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths."""
    yield from find_paths(payload)


def find_url_texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URLs in the arguments that hold one."""
    for name in URL_ARGUMENTS:
        if isinstance(value := payload.get(name), str):
            yield value
