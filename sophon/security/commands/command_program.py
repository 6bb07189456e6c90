"""Program of a command: its name without the path and without `sudo`, `env` and the like in front of it."""

import posixpath
import re
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.syntax import SimpleCommand, Word


@dataclass(frozen=True, slots=True)
class Program:
    """The program that a command runs, without the path and without `sudo`, `env` and the like in front of it.

    `is_sure` is False if an option in front of it may have a value that was taken for the program.
    """

    name: str
    arguments: tuple[Word, ...]
    is_sure: bool = True


def find_program(command: SimpleCommand) -> Program | None:
    """Return the program of a command; None if it has none, or the shell computes its name."""
    is_sure = True
    while (name := command.name) is not None:
        program = posixpath.basename(name)
        if program not in _WRAPPERS:
            return Program(program, command.arguments, is_sure)
        rest = _skip_options(program, command.arguments)
        is_wrapped_plainly = len(rest) >= len(command.arguments) - (program == "timeout")
        # An option may have a value, which then is not the program; the input of `xargs` has more arguments.
        is_sure = is_sure and is_wrapped_plainly and program not in ("xargs", "parallel")
        command = SimpleCommand(rest)
    return None


def hides_program(command: SimpleCommand) -> bool:
    """Return whether the command may run any program: its name, or that behind `sudo` and the like, is computed."""
    words = skip_wrappers(command.words)
    return bool(words) and words[0].is_hidden


def skip_wrappers(words: tuple[Word, ...], until: frozenset[str] = frozenset()) -> tuple[Word, ...]:
    """Return the words from the program on, or from the first wrapper named in `until`."""
    while words and not words[0].is_hidden:
        name = posixpath.basename(words[0].text)
        if name not in _WRAPPERS or name in until:
            break
        words = _skip_options(name, words[1:])
    return words


def _skip_options(program: str, arguments: tuple[Word, ...]) -> tuple[Word, ...]:
    rest = list(arguments)
    while rest and (rest[0].text.startswith("-") or _ASSIGNMENT.match(rest[0].text)):
        del rest[0]
    if program == "timeout" and rest:
        del rest[0]
    return tuple(rest)


_WRAPPERS: Final = frozenset(
    {
        *(
            "sudo",
            "doas",
            "env",
            "nice",
            "nohup",
            "time",
            "timeout",
            "stdbuf",
            "setsid",
            "ionice",
            "command",
            "builtin",
        ),
        *("exec", "xargs", "parallel", "chroot", "unshare", "strace", "watch", "busybox", "coproc"),
    }
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
