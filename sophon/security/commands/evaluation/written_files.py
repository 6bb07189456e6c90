"""Files that a program writes, as far as its arguments name them, and what is in them afterwards."""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.command_program import Program
from sophon.security.commands.evaluation.possible_texts import Texts
from sophon.security.commands.evaluation.script_arguments import INTERPRETERS, SHELLS, get_interpreter
from sophon.security.commands.program_targets import WRITE_TARGETS


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file and its text; with `is_built` an option named it, as that of a compiler does."""

    name: str
    text: Texts
    is_built: bool = False


def find_written_files(program: Program, stdin: Texts, files: Mapping[str, Texts]) -> Iterator[WrittenFile]:
    """Yield the files that a program writes; `files` are the known ones, by their normalized paths."""
    words = [each.text for each in program.arguments]
    if program.name in ("tee", "sponge"):
        yield from (WrittenFile(each, stdin) for each in words)
    elif program.name in ("mkfifo", "mknod"):  # who writes to a pipe with a name may do so at any time
        yield from (WrittenFile(each, None) for each in words)
    elif program.name in COPIERS or program.name in _CONVERTERS:
        yield from _find_copies(program.name, words, files)
    elif program.name in _DOWNLOADS:
        yield from (WrittenFile(each, None) for each in _find_downloads(program, words))
    elif program.name not in _NO_OUTPUT and get_interpreter(program.name) not in {*SHELLS, *INTERPRETERS}:
        yield from (WrittenFile(each, None, is_built=True) for each in _find_outputs(words))


def _find_copies(name: str, words: Sequence[str], files: Mapping[str, Texts]) -> Iterator[WrittenFile]:
    plain = [each for each in words if not each.startswith("-")]
    if name in _COMPRESSORS:
        yield from (
            WrittenFile(posixpath.splitext(each)[0], None) for each in plain if posixpath.normpath(each) in files
        )
        return
    if name == "xxd" and any(each.startswith("-r") for each in words):
        yield from (WrittenFile(each, None) for each in plain[1:])
    for each in plain[:-1]:
        if name in _REMOTE and ":" in each:
            yield WrittenFile(plain[-1], None)
            yield WrittenFile(posixpath.join(plain[-1], posixpath.basename(each.rpartition(":")[2])), None)
        source = posixpath.normpath(each)
        if source in files:
            yield WrittenFile(plain[-1], files[source])
            yield WrittenFile(posixpath.join(plain[-1], posixpath.basename(each)), files[source])


def _find_downloads(program: Program, words: Sequence[str]) -> Iterator[str]:
    for each in WRITE_TARGETS[program.name](program.arguments):
        # Without a name it is the last part of the URL.
        yield from [each.text] if each.text != "." else (posixpath.basename(url.partition("?")[0]) for url in words)


def _find_outputs(words: Sequence[str]) -> Iterator[str]:
    """Yield the files that options such as `-o` name."""
    for index, word in enumerate(words):
        match = _OUTPUT.fullmatch(word)
        if match is not None:
            yield from [match[1]] if match[1] else words[index + 1 : index + 2]


COPIERS: Final = frozenset({"cp", "ln", "mv", "install"})

_REMOTE: Final = frozenset({"scp", "rsync"})
_COMPRESSORS: Final = frozenset({"gunzip", "bunzip2", "unxz", "unzstd", "gzip", "xz", "bzip2", "zstd"})
_CONVERTERS: Final = _REMOTE | _COMPRESSORS | {"xxd"}

_DOWNLOADS: Final = frozenset({"curl", "wget", "dd"})
_OUTPUT: Final = re.compile(r"(?:-[A-Za-z]{0,3}o|-O|--?out(?:put)?(?:-file)?)(?:=(.+))?")
_NO_OUTPUT: Final = frozenset({"set", "shopt", "test", "[", "grep", "egrep", "fgrep", "ssh", "find", "ls", "ps"})
"""Programs whose `-o` names no file."""
