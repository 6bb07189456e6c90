"""Nested scripts: all commands of a script, those that it passes to another shell included.

A shell gets a script by `-c`, by `eval`, or on its standard input: from a here-document, a here-string, or what
`echo`, `printf` or `cat` write into a pipe.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.command_program import find_program
from sophon.security.commands.evaluation.script_arguments import SHELLS, after_option, reads_input
from sophon.security.commands.evaluation.script_evaluation import evaluate_script, may_hide
from sophon.security.commands.evaluation.variables import Variables
from sophon.security.commands.syntax import SimpleCommand, SyntaxProblem, UnreadScript, find_commands

MAX_NESTING: Final = 5
"""Scripts in scripts (`bash -c '...'`) that are read."""

MAX_SCRIPTS: Final = 100
"""Scripts in one command that are read."""

MAX_NESTED_CHARACTERS: Final = 30_000
"""Characters of all nested scripts in one command that are read: `find -exec find -exec ...` nests one in each word."""

MAX_ROUNDS: Final = 5
"""Times that a script is evaluated, as long as that shows further values of its variables."""


@dataclass(frozen=True, slots=True)
class Commands:
    """All commands of a script, in their order, nested ones behind the command that runs them.

    A command whose words the shell computes is followed by those that it may become. `code` are the scripts of other
    interpreters than shells, `written` the files that redirections and the like write, as far as their names can be
    followed through variables.

    `is_complete` is False if a script cannot be read, or only a person knows what it is. `is_readable` is False if the
    command itself cannot be parsed. `is_hidden` is True if it may run any program: the name of one, or what a shell
    gets, is computed in a way that cannot be followed. `is_unread` is True if that is so because the command is too
    long or too much work to be read.
    """

    commands: tuple[SimpleCommand, ...]
    is_complete: bool
    is_readable: bool = True
    is_hidden: bool = False
    code: tuple[str, ...] = ()
    is_unread: bool = False
    written: tuple[str, ...] = ()


@lru_cache(maxsize=16)
def find_all_commands(script: str) -> Commands:
    """Return the commands of a script and of the scripts in it. Never raises."""
    variables = Variables()
    collector, size = _Collector(variables), -1
    for _ in range(MAX_ROUNDS):
        if variables.size == size:
            break
        collector, size = _Collector(variables), variables.size
        collector.read(script, 0)
    else:
        collector.is_hidden = True
    return Commands(
        tuple(collector.commands),
        collector.is_complete,
        collector.is_readable,
        collector.is_hidden,
        tuple(collector.code),
        collector.is_unread,
        tuple(variables.files),
    )


class _Collector:
    """Collects the commands of one script."""

    def __init__(self, variables: Variables) -> None:
        self.commands: list[SimpleCommand] = []
        self.code: dict[str, None] = {}
        self.is_complete = self.is_readable = True
        self.is_hidden = self.is_unread = False
        self._variables = variables
        self._seen: dict[str, bool] = {}
        self._nested_characters = 0

    def read(self, script: str, depth: int, *, is_sure: bool = True) -> None:
        """Read a script. `is_sure`: a shell runs it; if not, it may only be one."""
        if script in self._seen and self._seen[script] >= is_sure:
            return
        if self._is_over_limit(script, depth):
            self.is_complete = False
            self.is_hidden = self.is_hidden or is_sure
            return
        self._seen[script] = is_sure
        if "\\\n" in script:  # the grammar divides a word that goes on in the next line
            self.read(script.replace("\\\n", ""), depth, is_sure=is_sure)
        try:
            commands = find_commands(script)
        except (UnreadScript, RecursionError):
            self.is_complete, self.is_readable = False, self.is_readable and depth > 0
            self.is_hidden, self.is_unread = self.is_hidden or is_sure, self.is_unread or is_sure
            return
        except SyntaxProblem:
            self._read_pieces(script, depth, is_sure=is_sure)
            return
        for command in commands:
            self.commands.append(command)
            self._read_arguments(command, depth)
        if any(_reads_script(command) for command in commands):
            self.is_complete = False  # more may come from elsewhere
            for text in _list_possible_inputs(commands):
                self.read(text, depth + 1, is_sure=False)
        if may_hide(script) or (depth and is_sure):  # a nested one may use files that others write
            self._evaluate(script, commands, depth, is_sure=is_sure)

    def _is_over_limit(self, script: str, depth: int) -> bool:
        """Count a script, and return whether it is one too many, too deep, or too long together with the others."""
        if self._seen:
            self._nested_characters += len(script)
        is_one_more = len(self._seen) >= MAX_SCRIPTS or self._nested_characters > MAX_NESTED_CHARACTERS
        return depth > MAX_NESTING or is_one_more

    def _read_pieces(self, script: str, depth: int, *, is_sure: bool) -> None:
        """Read what can be read of a script that cannot be parsed."""
        self.is_complete = False
        self.is_readable = self.is_readable and depth > 0
        self.is_hidden = self.is_hidden or (is_sure and _COMPOSED.search(script) is not None)
        if (spread := _LEADING_BRACES.sub(lambda match: match[1].replace(",", " "), script)) != script:
            self.read(spread, depth, is_sure=is_sure)  # the grammar takes them for a block
        lines = script.splitlines()
        for line in lines if len(lines) > 1 else ():  # those in front of an error run
            self.read(line, depth, is_sure=is_sure)

    def _evaluate(self, script: str, commands: list[SimpleCommand], depth: int, *, is_sure: bool) -> None:
        """Add the commands that those of a script become, and the scripts that they pass on."""
        effects = evaluate_script(script, self._variables)
        written = {tuple(word.text for word in command.words) for command in commands}
        self.commands += (each for each in effects.commands if tuple(word.text for word in each.words) not in written)
        self.code.update(dict.fromkeys(effects.code))
        self.is_hidden = self.is_hidden or (is_sure and effects.is_hidden)
        for text in effects.scripts:
            self.read(text, depth + 1)

    def _read_arguments(self, command: SimpleCommand, depth: int) -> None:
        program = find_program(command)
        if program is None or (program.name != "eval" and program.name not in SHELLS):
            return
        scripts = program.arguments if program.name == "eval" else after_option(program.arguments, "c")
        if not scripts or any(word.is_dynamic for word in scripts):
            self.is_complete = False
        if scripts:
            # A computed script is read as it is written: its literal part may already say what it does.
            text = " ".join(word.text for word in scripts) if program.name == "eval" else scripts[0].text
            self.read(text, depth + 1, is_sure=False)


def _reads_script(command: SimpleCommand) -> bool:
    """Return whether a command runs what is on its standard input."""
    program = find_program(command)
    return program is not None and program.name in {*SHELLS, "source", "."} and reads_input(program)


def _list_possible_inputs(commands: Iterable[SimpleCommand]) -> Iterator[str]:
    """Yield every text that may reach the standard input of a shell: which one does is not followed."""
    for command in commands:
        yield from (word.text for word in command.inputs)
        program = find_program(command)
        if program is not None and program.name in ("echo", "printf"):
            words = [word.text for word in program.arguments if not word.text.startswith("-")]
            for text in dict.fromkeys((*words, " ".join(words))):
                yield text.replace("\\n", "\n")


_LEADING_BRACES: Final = re.compile(r"(?<![^\s;|&(])\{([^\s{}]*,[^\s{}]*)\}")
"""Braces at the beginning of a word: `{ls,-l}` is `ls -l`."""

_COMPOSED: Final = re.compile(r"[$`\\|;&<>]|''|\"\"")
"""Marks of a text that is more than one plain command."""
