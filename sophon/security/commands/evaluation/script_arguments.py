"""Scripts in the arguments of a command: `sh -c`, `eval`, `find -exec sh -c`, `ssh HOST`, `python -c` and the like."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.command_program import Program, skip_wrappers
from sophon.security.commands.evaluation.program_options import find_awk_scripts, find_option_scripts
from sophon.security.commands.syntax import SimpleCommand, Word


@dataclass(frozen=True, slots=True)
class ScriptText:
    """A script and what runs it; with `is_unknown` a part of it that may be any command is computed."""

    interpreter: str
    text: str
    is_unknown: bool = False


def find_scripts(command: SimpleCommand) -> Iterator[ScriptText]:
    """Yield the scripts that a command passes to interpreters as arguments."""
    words = command.words
    for index, word in enumerate(words):
        name = get_interpreter(word.text)
        if name == "python":
            yield from _find_in_module(words[index + 1 :])
        if name in SHELLS or name in INTERPRETERS:
            option = "c" if name in SHELLS or name == "python" else "erEp" if name != "php" else "rRBE"
            yield from (_to_script(name, [each]) for each in find_script_words(words[index + 1 :], option)[:1])
        elif word.text in _EXECUTES:
            end = next((at for at, each in enumerate(words) if at > index and each.text in (";", "+")), len(words))
            yield ScriptText("sh", _quote(words[index + 1 : end]))
        elif word.text.startswith("-S") and posixpath.basename(words[0].text) == "env":
            yield ScriptText("sh", " ".join(each.text for each in words[index:])[2:])
    if words and posixpath.basename(words[0].text) == "env":
        yield from (ScriptText("sh", each) for each in find_option_scripts("env", [each.text for each in words[1:]]))
    words = skip_wrappers(words, until=_RUNS_ARGUMENTS)
    if words and not words[0].is_dynamic:
        program = posixpath.basename(words[0].text)
        yield from _find_in_program(program, words[1:])
        yield from (ScriptText("sh", each) for each in find_option_scripts(program, [each.text for each in words[1:]]))


def _find_in_module(arguments: Sequence[Word]) -> Iterator[ScriptText]:
    """Yield the statements that a module of Python runs: `python -m timeit -s STATEMENT STATEMENT`."""
    if _MODULE.search(" ".join(word.text for word in arguments[:8])):
        yield from (ScriptText("python", word.text) for word in arguments)


def _find_in_program(name: str, arguments: Sequence[Word]) -> Iterator[ScriptText]:
    if name == "eval":
        yield _to_script("sh", arguments)
    elif name in ("trap", *_AWKS):
        plain = [each for each in arguments if not each.text.startswith("-")]
        for each in plain[:1]:
            yield _to_script(get_interpreter(name) if name != "trap" else "sh", [each])
            if name != "trap":
                yield from (ScriptText("sh", text or "", text is None) for text in find_awk_scripts(each.text))
    elif name in _RUNS_ARGUMENTS:
        yield _to_script("sh", _skip_options(name, arguments))
    elif name in ("tmux", "screen"):
        yield from (ScriptText("sh", each.text) for each in arguments[-1:])
    elif name in ("su", "script", "flock", "runuser"):
        yield from (_to_script("sh", [each]) for each in after_option(arguments, "c")[:1])


def reads_input(program: Program) -> bool:
    """Return whether a shell or another interpreter runs what is on its standard input."""
    if program.name in ("source", "."):
        return any(word.text in _STANDARD_INPUTS for word in program.arguments)
    if program.name in ("at", "batch"):
        return not after_option(program.arguments, "f")
    if program.name in REMOTE_SHELLS:
        words = [word.text for word in program.arguments]
        if program.name in ("crontab", "make"):
            return bool(words) and words[-1] in _STANDARD_INPUTS
        return _runs_shell(program.name, words)
    words = [word.text for word in program.arguments]
    if any(name in ("-f", "--file", "run") and value in _STANDARD_INPUTS for name, value in pairwise(words)):
        return True  # `awk -f -`, `deno run -`
    option = "cmrefp" if get_interpreter(program.name) in INTERPRETERS else "c"
    if any(after_option(program.arguments, each) for each in option):
        return False
    words = [word.text for word in program.arguments if not word.text.startswith("-") or word.text == "-"]
    if any(word.text in ("--version", "-V", "--help", "-h") for word in program.arguments):
        return False
    return not words or words[0] in _STANDARD_INPUTS or bool(after_option(program.arguments, "s", is_last=True))


def _runs_shell(name: str, words: Sequence[str]) -> bool:
    """Return whether a program runs a shell that reads its input: `docker exec -i x sh`, `ssh h`, `su`."""
    plain = [each for each in words if not each.startswith("-")]
    if plain and get_interpreter(plain[-1]) in SHELLS:
        return True
    return (name == "su" and len(plain) < 2 and "-c" not in words) or (name == "ssh" and len(plain) == 1)


def get_interpreter(name: str) -> str:
    """Return the name of an interpreter without its path and version."""
    base = posixpath.basename(name)
    name = re.sub(r"[\d.]+$", "", base)
    return "awk" if base in _AWKS else "python" if name in ("pypy", "ipython") else name


def after_option(arguments: Sequence[Word], letter: str, *, is_last: bool = False) -> tuple[Word, ...]:
    """Return the words behind an option that may be joined with others, such as `-lc`; one of the letters names it.

    With `is_last` the option itself, too.
    """
    for index, word in enumerate(arguments):
        if re.fullmatch(r"-[A-Za-z]+", word.text) and set(letter) & set(word.text):
            return tuple(arguments[index if is_last else index + 1 :])
        if word.text in ("--eval", "--print", "eval") and "e" in letter:
            return tuple(arguments[index + 1 :])
        if word.text.startswith(("--eval=", "--print=")) and "e" in letter:
            return (replace(word, text=word.text.partition("=")[2]), *arguments[index + 1 :])
    return ()


def find_script_words(arguments: Sequence[Word], letter: str) -> tuple[Word, ...]:
    """Return the script behind an option such as `-c`, and what it gets as `$0`, `$1` and so on."""
    words = after_option(arguments, letter)
    while words and words[0].text.startswith(("-", "+")) and not words[0].is_dynamic:
        words = words[1:]
    return words


def find_script_files(interpreter: str, arguments: Sequence[Word]) -> Iterator[Word]:
    """Yield the words that may name the file of a script; what stands behind it is data."""
    if interpreter in PROGRAMS_WITH_FILES:
        yield from after_option(arguments, PROGRAMS_WITH_FILES[interpreter])[:1]
        yield from (Word(each) for each in _MAKEFILES if interpreter == "make")
        return
    inline = _INLINE.get(interpreter, _INLINE["sh"] if interpreter in SHELLS else _INLINE["perl"])
    is_value = False
    for index, word in enumerate(arguments):
        is_option = word.text.startswith(("-", "+"))
        if interpreter in INTERPRETERS or interpreter in SHELLS:
            if inline.fullmatch(word.text):
                if word.text.endswith("m"):
                    yield from (Word(f"{each.text.replace('.', '/')}.py") for each in arguments[index + 1 : index + 2])
                return
            yield word
            if not is_option and not is_value:
                return
        else:
            yield word
        is_value = is_option


def _to_script(interpreter: str, words: Sequence[Word]) -> ScriptText:
    text = " ".join(word.text for word in words)
    is_dynamic = any(word.is_dynamic for word in words)
    return ScriptText(interpreter, text, is_dynamic and bool(_SUBSTITUTION.search(_PLAIN_SUBSTITUTION.sub("", text))))


def _skip_options(name: str, arguments: Sequence[Word]) -> Sequence[Word]:
    """Return the words of the command that `ssh HOST` or `watch` runs."""
    words = list(arguments)
    while words and words[0].text.startswith("-"):
        option = words.pop(0).text
        if words and option in ("-i", "-p", "-l", "-o", "-F", "-J", "-n", "-S"):
            words.pop(0)
    return words[1:] if name == "ssh" else words


def _quote(words: Sequence[Word]) -> str:
    return " ".join(
        word.text if word.is_dynamic or re.fullmatch(r"[\w./~{}@%+=:,-]+", word.text) else _in_quotes(word.text)
        for word in words
    )


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SHELLS: Final = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash"))
INTERPRETERS: Final = frozenset(
    {
        *("python", "perl", "ruby", "node", "nodejs", "php", "awk", "lua", "osascript", "pwsh", "powershell"),
        *("deno", "bun", "Rscript", "R", "julia", "emacs", "tclsh", "wish", "guile", "luajit", "jruby"),
    }
)
ESCAPING_EDITORS: Final = frozenset({"ed", "red", "m4"})
"""Programs whose input may have commands that start other programs."""

PROGRAMS_WITH_FILES: Final = {"awk": "f", "sed": "f", "make": "f", "vim": "S", "vi": "S", "nvim": "S", "gdb": "x"}
"""Options of programs whose value is a file that may start other programs."""

_MAKEFILES: Final = ("Makefile", "makefile", "GNUmakefile")

_MODULE: Final = re.compile(r"(?:^|\s)-\w*m ?(?:timeit|pdb|IPython)(?:\s|$)")

_INLINE: Final = {
    "sh": re.compile(r"-[A-Za-z]*c"),
    "python": re.compile(r"-[bBdEiIOqsSuvx]*[cm]"),
    "php": re.compile(r"-[rRBE]"),
    "perl": re.compile(r"-[alnpw]*[eE]|--eval|--print|eval"),
}
"""Options whose value is the script, by interpreter."""

_AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_RUNS_ARGUMENTS: Final = frozenset({"ssh", "watch"})
_EXECUTES: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
REMOTE_SHELLS: Final = frozenset(
    {"ssh", "su", "docker", "podman", "kubectl", "oc", "nsenter", "lxc", "crontab", "make"}
)
"""Programs that may give their input to a shell."""
_STANDARD_INPUTS: Final = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_SUBSTITUTION: Final = re.compile(r"\$\(|`")
_PLAIN_SUBSTITUTION: Final = re.compile(
    r"\$\((?:pwd|nproc|whoami|hostname|uname|date|git|id|basename|dirname|which|getconf)\b[^$`|;&()<>]*\)"
)
"""Substitutions whose output is no command."""
