"""Nested scripts: all commands of a script, those that it passes to another shell included.

A shell gets a script by `-c`, by `eval`, or on its standard input: from a here-document, a here-string, or what
`echo`, `printf` or `cat` write into a pipe.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from sophon.lazy_dataclass import dataclass
from sophon.security.commands.syntax import SimpleCommand, SyntaxProblem, Word, find_commands

MAX_NESTING: Final = 5
"""Scripts in scripts (`bash -c '...'`) that are read."""

MAX_SCRIPTS: Final = 100
"""Scripts in one command that are read."""


@dataclass(frozen=True, slots=True)
class Commands:
    """All commands of a script, in their order, nested ones behind the command that runs them.

    `is_complete` is False if a script cannot be read, or only a person knows what it is. `is_readable` is False if the
    command itself cannot be parsed.
    """

    commands: tuple[SimpleCommand, ...]
    is_complete: bool
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """The program that a command runs, without the path and without `sudo`, `env` and the like in front of it.

    `is_sure` is False if an option in front of it may have a value that was taken for the program.
    """

    name: str
    arguments: tuple[Word, ...]
    is_sure: bool = True


@lru_cache(maxsize=16)
def find_all_commands(script: str) -> Commands:
    """Return the commands of a script and of the scripts in it. Never raises."""
    collector = _Collector()
    collector.read(script, 0)
    return Commands(tuple(collector.commands), collector.is_complete, collector.is_readable)


def find_program(command: SimpleCommand) -> Program | None:
    """Return the program of a command; None if it has none, or the shell computes its name."""
    is_sure = True
    while (name := command.name) is not None:
        program = posixpath.basename(name)
        if program not in _WRAPPERS:
            return Program(program, command.arguments, is_sure)
        rest = list(command.arguments)
        while rest and (rest[0].text.startswith("-") or _ASSIGNMENT.match(rest[0].text)):
            del rest[0]
        if program == "timeout" and rest:
            del rest[0]
        is_wrapped_plainly = len(rest) >= len(command.arguments) - (program == "timeout")
        # An option may have a value, which then is not the program; the input of `xargs` has more arguments.
        is_sure = is_sure and is_wrapped_plainly and program not in ("xargs", "parallel")
        command = SimpleCommand(tuple(rest))
    return None


class _Collector:
    """Collects the commands of one script."""

    def __init__(self) -> None:
        self.commands: list[SimpleCommand] = []
        self.is_complete = self.is_readable = True
        self._seen: set[str] = set()

    def read(self, script: str, depth: int) -> None:
        if script in self._seen:
            return
        if depth > MAX_NESTING or len(self._seen) >= MAX_SCRIPTS:
            self.is_complete = False
            return
        self._seen.add(script)
        try:
            commands = find_commands(script)
        except (SyntaxProblem, RecursionError):
            self.is_complete = False
            self.is_readable = self.is_readable and depth > 0
            return
        for command in commands:
            self.commands.append(command)
            self._read_arguments(command, depth)
        if any(_reads_script(command) for command in commands):
            self.is_complete = False  # more may come from elsewhere
            for text in _list_possible_inputs(commands):
                self.read(text, depth + 1)

    def _read_arguments(self, command: SimpleCommand, depth: int) -> None:
        program = find_program(command)
        if program is None or (program.name != "eval" and program.name not in SHELLS):
            return
        scripts = program.arguments if program.name == "eval" else _after_option(program.arguments, "c")
        if not scripts or any(word.is_dynamic for word in scripts):
            self.is_complete = False
        if scripts:
            # A computed script is read as it is written: its literal part may already say what it does.
            self.read(" ".join(word.text for word in scripts) if program.name == "eval" else scripts[0].text, depth + 1)


def _reads_script(command: SimpleCommand) -> bool:
    """Return whether a command runs what is on its standard input."""
    program = find_program(command)
    if program is None:
        return False
    if program.name in ("source", "."):
        return any(word.text in _STANDARD_INPUTS for word in program.arguments)
    if program.name not in SHELLS or _after_option(program.arguments, "c"):
        return False
    words = [word.text for word in program.arguments if not word.text.startswith("-")]
    return not words or words[0] in _STANDARD_INPUTS or bool(_after_option(program.arguments, "s", is_last=True))


def _list_possible_inputs(commands: Iterable[SimpleCommand]) -> Iterator[str]:
    """Yield every text that may reach the standard input of a shell: which one does is not followed."""
    for command in commands:
        yield from (word.text for word in command.inputs)
        program = find_program(command)
        if program is not None and program.name in ("echo", "printf"):
            words = [word.text for word in program.arguments if not word.text.startswith("-")]
            for text in dict.fromkeys((*words, " ".join(words))):
                yield text.replace("\\n", "\n")


def _after_option(arguments: tuple[Word, ...], letter: str, *, is_last: bool = False) -> tuple[Word, ...]:
    """Return the words behind an option that may be joined with others, such as `-lc`.

    With `is_last` the option itself, too.
    """
    for index, word in enumerate(arguments):
        if re.fullmatch(r"-[A-Za-z]+", word.text) and letter in word.text:
            return arguments[index if is_last else index + 1 :]
    return ()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS: Final = _words("sh bash dash zsh ksh ash")

_WRAPPERS: Final = _words(
    "sudo doas env nice nohup time timeout stdbuf setsid ionice command builtin exec xargs parallel chroot unshare "
    "strace watch busybox"
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_STANDARD_INPUTS: Final = _words("- /dev/stdin /dev/fd/0 /proc/self/fd/0")
