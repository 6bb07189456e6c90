"""Arguments that decide the risk of a call, for a look at their names alone: most calls have none of them."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

PATH_ARGUMENTS: Final = ("path", "source", "destination", "dir", "file", "target")

SHELL_ARGUMENTS: Final = ("command", "cmd", "commands", "shell_command", "bash")
"""Names of the arguments that hold a command of a shell, or a list of its words; `commands` is a list of commands."""

CODE_ARGUMENTS: Final = ("code", "script")
"""Names of the arguments that hold code, of a shell or another language."""

RECIPIENT_ARGUMENTS: Final = ("to", "cc", "bcc", "recipient", "recipients")
"""Looked at only in calls of tools that send mail."""

_PLAIN_TYPES: Final = frozenset({str, int, float, bool, bytes, type(None)})
_SHELL_ARGUMENT_SET: Final = frozenset(SHELL_ARGUMENTS)
_ASSESSED: Final = frozenset({*SHELL_ARGUMENTS, *CODE_ARGUMENTS, "url", *PATH_ARGUMENTS})

_SENDS_MAIL: Final = re.compile(r"(?:^|[._-])(?:send[._-]?)?(?:g?mail|e-?mail)(?:$|[._-])", re.IGNORECASE)

MAX_KNOWN_TOOLS: Final = 4096


def has_assessed_arguments(tool_name: str, arguments: object) -> bool:
    """Return whether `assess_risk` looks at any argument of the call; if not, it finds nothing."""
    if not isinstance(arguments, Mapping):
        return True
    named: Mapping[object, object] = arguments  # pyright: ignore[reportUnknownVariableType] - JSON
    return any(is_assessed(tool_name, each) for each in find_objects(named))


def is_assessed(tool_name: str, named: Mapping[Any, Any]) -> bool:
    """Return whether `assess_risk` looks at an object of the arguments of a call."""
    return not _ASSESSED.isdisjoint(named) or sends_mail(tool_name)


def find_objects(arguments: object) -> Iterator[Mapping[Any, Any]]:
    """Yield the objects in the arguments, at any depth: `{"steps": [{"command": ...}]}` has a command, too."""
    pending, seen = [arguments], set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            yield value  # pyright: ignore[reportUnknownVariableType] - JSON
            pending += [each for each in value.values() if type(each) not in _PLAIN_TYPES]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType] - JSON
        elif isinstance(value, list | tuple):
            pending += [each for each in value if type(each) not in _PLAIN_TYPES]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON


def has_command(arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a call hold a command, whatever the tool is called."""
    return not _SHELL_ARGUMENT_SET.isdisjoint(arguments)


@lru_cache(maxsize=MAX_KNOWN_TOOLS)
def sends_mail(tool_name: str) -> bool:
    """Return whether a tool sends mail, by its name."""
    return _SENDS_MAIL.search(tool_name) is not None
