"""Effects of commands: the scripts, variables and files that one command makes, and what it may write."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sophon.security.commands.command_program import Program, find_program, hides_program, skip_wrappers
from sophon.security.commands.evaluation.possible_texts import (
    FILE,
    MAX_ALTERNATIVES,
    NOTHING,
    Texts,
    concatenate,
    is_unresolved,
)
from sophon.security.commands.evaluation.script_arguments import (
    ESCAPING_EDITORS,
    INTERPRETERS,
    PROGRAMS_WITH_FILES,
    REMOTE_SHELLS,
    SHELLS,
    ScriptText,
    find_script_files,
    find_script_words,
    find_scripts,
    get_interpreter,
    reads_input,
)
from sophon.security.commands.evaluation.text_programs import run_text_program
from sophon.security.commands.evaluation.variables import Variables
from sophon.security.commands.evaluation.written_files import COPIERS, find_written_files
from sophon.security.commands.syntax import SimpleCommand, Word

MAX_XARGS: Final = 20
"""How often `xargs` may run `xargs`, to be followed: each one makes a command of all that follow."""

XARGS: Final = frozenset({"xargs", "parallel"})

_WITH_VALUE: Final = frozenset({"-n", "-L", "-P", "-d", "-s", "-a", "--arg-file", "-E", "-j"})

_ANYTHING: Final = Word('"$INPUT"', is_dynamic=True, is_hidden=True)


class CommandEffects:
    """Collects the effects of the commands of one script, in the order in which they are noted.

    `scripts` are the texts that shells get, `code` those of other interpreters. `is_hidden`: which program would run,
    or what an interpreter would get, cannot be told.
    """

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self.commands: dict[SimpleCommand, None] = {}
        self.scripts: dict[str, None] = {}
        self.code: dict[str, None] = {}
        self.files = variables.files
        self.functions: set[str] = set()
        self._copies: dict[str, str] = {}
        self._nesting = 0
        self.is_hidden = False

    def note(self, command: SimpleCommand, stdin: Texts) -> Texts:
        """Note one command with its words expanded, and return what it may write."""
        if not command.words:
            return NOTHING
        self.commands[command] = None
        self.is_hidden = self.is_hidden or hides_program(command)
        self._note_environment(command)
        self._note_scripts(command, stdin)
        program = find_program(command)
        if program is not None:
            self._note_assignments(program, stdin)
        if (words := find_xargs(command)) is not None:
            if len(words) == 1 and not words[0].text.endswith("parallel"):
                return stdin
            if self._nesting >= MAX_XARGS:
                self.is_hidden = True
                return None
            self._nesting += 1
            for each in build_xargs_commands(words, stdin):
                self.note(each, NOTHING)
            self._nesting -= 1
            return None
        return None if program is None else self._find_output(program, stdin)

    def _find_output(self, program: Program, stdin: Texts) -> Texts:
        """Return what a program may write, and note the files that it writes."""
        arguments = program.arguments
        self._note_written_files(program, stdin)
        if any(is_unknown(each) and posixpath.normpath(each.text) not in self.files for each in arguments):
            return None
        if is_unresolved(stdin):
            return stdin if program.name in ("cat", "tee") else None
        if program.name in _READERS:
            named = [posixpath.normpath(each.text) for each in arguments if not _OPTION.match(each.text)]
            known = [each for each in named if each in self.files]
            if known and program.name in ("cat", "tac"):
                return concatenate([self.files[each] for each in known])
            if known:
                stdin = self.files[known[0]]
                arguments = tuple(each for each in arguments if posixpath.normpath(each.text) != known[0])
            elif program.name in _COPIES and (stdin == FILE or (named and program.name in ("cat", "head", "tail"))):
                return FILE
        if not stdin:
            if program.name not in _WRITERS:
                return None
            stdin = NOTHING
        texts = [run_text_program(program.name, [each.text for each in arguments], text) for text in stdin or ()]
        return None if None in texts else tuple(text for text in dict.fromkeys(texts) if text is not None)

    def _note_written_files(self, program: Program, stdin: Texts) -> None:
        for each in [*find_written_files(program, stdin, self.files)]:
            self.note_file(each.name, each.text)
            if each.is_built:
                self.variables.built_files.add(posixpath.normpath(each.name))
        if program.name == "chmod":
            self.variables.built_files.difference_update(posixpath.normpath(each.text) for each in program.arguments)

    def _note_scripts(self, command: SimpleCommand, stdin: Texts) -> None:
        """Note the scripts that a command passes to a shell or another interpreter."""
        for script in find_scripts(command):
            if script.is_unknown:
                self.is_hidden = True
            self._note_script(script)
        program = find_program(command)
        if self.files:
            self._note_inner_files(command.words)
        if program is not None:
            self._note_input_and_files(program, command, stdin)

    def _note_inner_files(self, words: Sequence[Word]) -> None:
        """Note the scripts in files behind an interpreter within a command: `flock l sh x`, `deno run x`."""
        for index, word in enumerate(words):
            name = get_interpreter(word.text)
            is_interpreter = name in SHELLS or name in INTERPRETERS
            if is_interpreter or word.text in _RUNS_FILES:
                for each in find_script_files(name if is_interpreter else "node", words[index + 1 :]):
                    self._note_file_script(name if is_interpreter else None, each.text)

    def _note_input_and_files(self, program: Program, command: SimpleCommand, stdin: Texts) -> None:
        """Note the scripts that a program reads from its standard input or a file, and itself if it is such a file."""
        interpreter = get_interpreter(program.name)
        if interpreter in PROGRAMS_WITH_FILES:
            for word in find_script_files(interpreter, program.arguments):
                self._note_file_script("sh", word.text)
        if program.name in REMOTE_SHELLS and not reads_input(program):
            return
        if program.name in ESCAPING_EDITORS:
            self.is_hidden = self.is_hidden or stdin is None
            return
        runs_input = program.name in _SOURCES or program.name in REMOTE_SHELLS
        if interpreter not in SHELLS and interpreter not in INTERPRETERS and not runs_input:
            self._note_file_script("sh", skip_wrappers(command.words, until=XARGS)[0].text, is_direct=True)
        elif reads_input(program):
            self.is_hidden = self.is_hidden or stdin is None
            for text in stdin or ():
                self._note_script(ScriptText(interpreter, text))
        else:
            for word in find_script_files(interpreter, program.arguments):
                self._note_file_script(interpreter, word.text)

    def _note_environment(self, command: SimpleCommand) -> None:
        """Note the variables that `env` sets, the arguments of a script, and a program under another name."""
        words = command.words
        if posixpath.basename(words[0].text) == "env":
            self.assign_words(words)
        for index, word in enumerate(words):
            if get_interpreter(word.text) in SHELLS:
                arguments = [each.text for each in find_script_words(words[index + 1 :], "c")[1:]]
                self.variables.add("0", tuple(arguments[:1]) or ("sh",))
                self.variables.add_arguments(tuple(arguments[1:]))
        original = self._copies.get(posixpath.normpath(words[0].text))
        if original is not None:
            self.note(SimpleCommand((Word(original), *words[1:])), NOTHING)
        elif words[0].text in COPIERS:
            plain = [each.text for each in words[1:] if not each.text.startswith("-")]
            if len(plain) == 2 and posixpath.dirname(plain[0]) in _PROGRAM_FOLDERS:
                self._copies[posixpath.normpath(plain[1])] = posixpath.basename(plain[0])

    def _read_fields(self, texts: Texts, index: int, *, is_last: bool) -> Texts:
        """Return what `read` puts into the variable at an index."""
        if not texts or is_unresolved(texts):
            return None
        rows = [self.variables.split(line) for text in texts for line in text.splitlines()]
        return tuple(" ".join(row[index : None if is_last else index + 1]) for row in rows)

    def _note_file_script(self, interpreter: str | None, name: str, *, is_direct: bool = False) -> None:
        """Note the script in a file that this command has written itself; without an interpreter, only if it is hidden.

        What a compiler writes is run directly, and nobody makes it executable before.
        """
        path = posixpath.normpath(name)
        texts = self.files.get(path, FILE)
        unknown = self.variables.unknown_files - (self.variables.built_files if is_direct else frozenset())
        if path in self.files:
            is_built = is_direct and path in self.variables.built_files
            self.is_hidden = self.is_hidden or (texts is None and not is_built)
        elif unknown and (not is_direct or "/" in name):  # the working folder may be another one
            base = posixpath.basename(path)
            self.is_hidden = self.is_hidden or any(posixpath.basename(each) == base for each in unknown)
        if interpreter is not None:
            for text in texts or ():
                self._note_script(ScriptText(interpreter, text))

    def _note_script(self, script: ScriptText) -> None:
        (self.code if script.interpreter in INTERPRETERS else self.scripts)[script.text] = None

    def _note_assignments(self, program: Program, stdin: Texts) -> None:
        """Note what builtins assign, and the arguments of functions."""
        words = [each.text for each in program.arguments]
        if program.name in self.functions:
            self.variables.add_arguments(tuple(words))
        elif program.name == "set" and words and ("--" in words or words[0][:1] not in ("-", "+")):
            self.variables.add_arguments(tuple(words[words.index("--") + 1 if "--" in words else 0 :]))
        elif program.name == "shift":
            self.variables.is_shifted = True
        elif program.name in ("declare", "typeset", "local", "export", "readonly"):
            self.assign_words(program.arguments)
        elif program.name == "printf" and words[:1] == ["-v"] and len(words) > 2:
            output = None if any(map(is_unknown, program.arguments)) else run_text_program("printf", words[2:], "")
            self.variables.add(words[1], None if output is None else (output,))
        elif program.name in ("read", "mapfile", "readarray", "getopts"):
            names = [each for each in words if re.fullmatch(r"[A-Za-z_]\w*", each)] or ["REPLY", "MAPFILE"]
            for index, name in enumerate(names):
                self.variables.add(name, self._read_fields(stdin, index, is_last=index == len(names) - 1))
        elif program.name == "alias":
            for word in program.arguments:
                name, _, text = word.text.partition("=")
                self.functions.add(name)
                self._note_script(ScriptText("sh", f'{text} "$@"'))

    def note_file(self, name: str, output: Texts, *, appends: bool = False) -> None:
        """Note what a file has from now on."""
        name = posixpath.normpath(name)
        before = self.files.get(name, NOTHING if not appends else None) if appends else NOTHING
        self.files[name] = text = concatenate([before, output])
        self.variables.built_files.discard(name)
        if text is None:
            self.variables.unknown_files.add(name)

    def assign_words(self, fields: Iterable[Word]) -> None:
        """Assign what `declare` gets as words, such as `declare "x=rm"`."""
        for field in fields:
            if match := _ASSIGNMENT.match(field.text):
                self.variables.add(match[1], None if is_unknown(field) else (match[2],))


def is_unknown(word: Word) -> bool:
    """Return whether the shell computes a word, more than its home folder."""
    return word.is_dynamic and (not word.text.startswith("~") or _COMPUTED.search(word.text) is not None)


_OPTION: Final = re.compile(r"-|\+?\d+$")

_COMPUTED: Final = re.compile(r"[$`*?\[]")

_RUNS_FILES: Final = frozenset({"run", "-jar", "expect"})

_SOURCES: Final = frozenset({"source", ".", "at", "batch"})

_READERS: Final = frozenset({"cat", "tac", "head", "tail", "sed", "rev", "base64", "base32", "xxd", "cut", "grep"})

_COPIES: Final = frozenset({"cat", "tee", "head", "tail", "sed", "grep"})
"""Programs whose output is that of a file if their input is: nothing in it is decoded."""

_WRITERS: Final = frozenset({"echo", "printf", "which", "command", "basename"})
"""Programs whose output is known without their input."""

_PROGRAM_FOLDERS: Final = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"})

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)


def find_xargs(command: SimpleCommand) -> tuple[Word, ...] | None:
    """Return the words from `xargs` or `parallel` on, without `sudo` and the like in front of it; None without it."""
    words = skip_wrappers(command.words, until=XARGS)
    return words if words and posixpath.basename(words[0].text) in XARGS else None


def build_xargs_commands(words: Sequence[Word], stdin: Texts) -> Iterator[SimpleCommand]:
    """Yield the commands. Where the input is not known, it may be any word."""
    rest, mark, has_file = _skip_options(words[1:])
    if has_file:
        stdin = None
    if posixpath.basename(words[0].text) == "parallel":
        mark = mark or "{}"
        rest, stdin = _read_parallel(rest, mark, stdin)
    if not rest:
        return
    for row in _list_rows(stdin, has_mark=bool(mark)):
        if mark:
            yield SimpleCommand(tuple(_fill(word, mark, row) for word in rest))
        else:
            more = [_ANYTHING] if row is None else [Word(each) for each in row.replace("\0", " ").split()]
            yield SimpleCommand((*rest, *more))


def _skip_options(words: Sequence[Word]) -> tuple[list[Word], str, bool]:
    """Return the words of the command, the mark for a row, and whether the rows are those of a file."""
    rest, mark, has_file = list(words), "", False
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).text
        if found := re.fullmatch(r"-I(.*)|--replace=(.+)|-i(.*)", option):
            mark = found[1] or found[2] or found[3] or (rest.pop(0).text if option == "-I" and rest else "{}")
            continue
        has_file = has_file or re.match(r"-a|--arg-?file", option) is not None
        if option in _WITH_VALUE and rest:
            rest.pop(0)
    return rest, mark, has_file


def _read_parallel(rest: list[Word], mark: str, stdin: Texts) -> tuple[list[Word], Texts]:
    """Return the words of the command of `parallel`, with the mark, and its rows."""
    texts = [each.text for each in rest]
    if "::::" in texts:
        stdin, rest = None, rest[: texts.index("::::")]
    elif ":::" in texts:
        stdin, rest = ("\n".join(texts[texts.index(":::") + 1 :]),), rest[: texts.index(":::")]
    rest = rest or [Word("sh"), Word("-c")]
    return rest if any(mark in word.text for word in rest) else [*rest, Word(mark)], stdin


def _list_rows(stdin: Texts, *, has_mark: bool) -> list[str | None]:
    if not stdin or is_unresolved(stdin):
        return [None]
    rows: list[str | None] = [line for text in stdin for line in (text.splitlines() if has_mark else [text])]
    return rows if len(rows) <= MAX_ALTERNATIVES else [*rows[:MAX_ALTERNATIVES], None]


def _fill(word: Word, mark: str, row: str | None) -> Word:
    if mark not in word.text:
        return word
    if row is None:
        return Word(word.text.replace(mark, "$INPUT"), True, mark in word.text.rpartition("/")[2])
    return Word(word.text.replace(mark, row), word.is_dynamic)
