"""Write targets: the files and folders that a shell command writes, moves, deletes or changes the rights of."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from sophon.lazy_dataclass import dataclass
from sophon.security.commands.syntax import Redirection, SimpleCommand, SyntaxProblem, Word, find_commands

MAX_NESTING: Final = 5
"""Scripts in scripts (`bash -c '...'`) that are read."""

MAX_PATHS: Final = 10_000
"""Different paths in all folders that the command may be in; beyond them it is incomplete."""

MAX_FOLDERS: Final = 16
"""Folders that a command may be in; beyond them it is incomplete."""


@dataclass(frozen=True, slots=True)
class WriteTargets:
    """What a command writes. `is_complete` is False if it may write more than `paths`: a computed name, or a program
    that runs other code; a caller that protects files must then not trust the list alone. `removed` are those of the
    paths that it deletes or moves away.
    """

    paths: tuple[str, ...]
    is_complete: bool
    removed: tuple[str, ...] = ()


def find_write_targets(command: str, folder: str) -> WriteTargets:
    """Return what a shell command writes, with relative paths resolved against `folder`, the absolute working folder.

    A relative path is resolved against every folder that the command may be in: whether a `cd` in it takes effect
    depends on subshells and on errors. A command that cannot be parsed is incomplete.
    """
    collector = _Collector(folder)
    collector.read_script(command, 0)
    return WriteTargets(tuple(collector.paths), collector.is_complete, tuple(collector.removed))


class _Collector:
    """Collects the targets of one script, in the order of its commands."""

    def __init__(self, folder: str) -> None:
        self.folders = [folder]
        self.paths: dict[str, None] = {}
        self.removed: dict[str, None] = {}
        self.is_complete = True

    def read_script(self, script: str, depth: int) -> None:
        if depth > MAX_NESTING:
            self.is_complete = False
            return
        try:
            commands = find_commands(script)
        except (SyntaxProblem, RecursionError):
            self.is_complete = False
            return
        for command in commands:
            for redirection in command.redirections:
                self._read_redirection(redirection)
            self._read_command(command, depth)

    def _read_redirection(self, redirection: Redirection) -> None:
        if not redirection.operator.startswith("<") or redirection.operator == "<>":
            self._add(redirection.target)

    def _read_command(self, command: SimpleCommand, depth: int) -> None:
        texts = (*command.assignments, *(word.text for word in command.words))
        if any(_CHANGES_PROGRAMS.match(each) for each in texts):
            self.is_complete = False
        if not command.words:
            return
        if command.name is None:
            self.is_complete = False
            return
        self._read_program(posixpath.basename(command.name), command.arguments, depth)

    def _read_program(self, program: str, arguments: tuple[Word, ...], depth: int) -> None:
        if program in _WRAPPERS:
            self._read_wrapped(program, arguments, depth)
        elif program in ("cd", "pushd"):
            self._change_folder(arguments)
        elif program in _SHELLS or program == "eval":
            self._read_nested(program, arguments, depth)
        elif program in _TARGETS:
            for word in _TARGETS[program](arguments):
                self._add(word)
            if program in _REMOVERS:
                # The last word of `mv` is where to.
                names = _plain(arguments)[: -1 if program == "mv" and not _has_target_option(arguments) else None]
                for word in names:
                    self._add_to(self.removed, word)
        elif program not in _READERS and not (program in _INTERPRETERS and _only_asks_version(arguments)):
            self.is_complete = False

    def _read_wrapped(self, program: str, arguments: tuple[Word, ...], depth: int) -> None:
        """Read the command behind `sudo`, `env` and the like, which begins at the first word that may be a program."""
        if program in ("xargs", "parallel"):
            self.is_complete = False  # their input has more arguments
        rest = list(arguments)
        while rest and (rest[0].text.startswith("-") or _ASSIGNMENT.match(rest[0].text)):
            del rest[0]
        if program == "timeout" and rest:
            del rest[0]
        if len(rest) < len(arguments) - (program == "timeout"):
            self.is_complete = False  # an option may have a value, which then is not the program
        self._read_command(SimpleCommand(tuple(rest)), depth)

    def _read_nested(self, program: str, arguments: tuple[Word, ...], depth: int) -> None:
        scripts = arguments if program == "eval" else _after_option(arguments, "-c")
        if not scripts or any(word.is_dynamic for word in scripts):
            self.is_complete = False
            return
        script = " ".join(word.text for word in scripts) if program == "eval" else scripts[0].text
        self.read_script(script, depth + 1)

    def _change_folder(self, arguments: tuple[Word, ...]) -> None:
        plain = _plain(arguments)
        if len(plain) != 1 or plain[0].is_dynamic or plain[0].text == "-" or len(self.folders) > MAX_FOLDERS:
            self.is_complete = False
            return
        self.folders += [posixpath.join(folder, plain[0].text) for folder in self.folders]

    def _add(self, word: Word) -> None:
        if word.is_dynamic or not word.text:
            self.is_complete = False
        if word.text:
            # A computed name is added as it is written: its literal part may already show a protected folder.
            self._add_to(self.paths, word)

    def _add_to(self, found: dict[str, None], word: Word) -> None:
        if len(found) > MAX_PATHS:
            self.is_complete = False
        elif word.text:
            found.update((posixpath.normpath(posixpath.join(folder, word.text)), None) for folder in self.folders)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_CHANGES_PROGRAMS: Final = re.compile(r"(?:PATH|IFS|ENV|BASH_ENV|SHELLOPTS|LD_[A-Z_]+|DYLD_[A-Z_]+|GIT_[A-Z_]+)=")
"""Variables after whose change a name may mean another program."""
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"})
_WRAPPERS: Final = _words(
    "sudo doas env nice nohup time timeout stdbuf setsid ionice command builtin exec xargs parallel chroot unshare "
    "strace watch"
)
_INTERPRETERS: Final = _words(
    "python python3 perl ruby node deno bun php lua awk gawk mawk ed ex vi vim nvim emacs nano make cmake ninja gcc cc "
    "docker podman kubectl ssh npm npx yarn pnpm pip pip3 uv cargo go java gradle mvn git svn hg apt apt-get yum dnf "
    "systemctl crontab at source ."
)
_READERS: Final = _words(
    "cat head tail less more grep egrep fgrep rg ls dir stat file wc cut tr uniq comm diff cmp echo printf pwd date "
    "whoami id uname hostname df du ps top free uptime which type test [ [[ true false sleep env printenv basename "
    "dirname realpath readlink md5sum sha1sum sha256sum hexdump xxd strings jq yq column expr seq yes tree "
    "return exit break continue local declare export readonly typeset unset set shift read wait let shopt alias"
)


_REMOVERS: Final = _words("rm rmdir unlink shred mv")


def _has_target_option(arguments: Iterable[Word]) -> bool:
    return any(word.text.startswith(("-t", "--target-directory")) for word in arguments)


def _plain(arguments: Iterable[Word]) -> list[Word]:
    """Return the words that are not options; behind `--` all."""
    found: list[Word] = []
    only_words = False
    for word in arguments:
        if not only_words and word.text == "--":
            only_words = True
        elif only_words or not word.text.startswith("-") or word.text == "-":
            found.append(word)
    return found


def _all(arguments: tuple[Word, ...]) -> Iterator[Word]:
    yield from _plain(arguments)


def _all_but_first(arguments: tuple[Word, ...]) -> Iterator[Word]:
    yield from _plain(arguments)[1:]


def _destination(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield where `cp` and the like write: the last word, or the value of `-t`."""
    yield from _values_of(arguments, "-t", "--target-directory")
    yield from _plain(arguments)[-1:]


def _sources_and_destination(arguments: tuple[Word, ...]) -> Iterator[Word]:
    yield from _values_of(arguments, "-t", "--target-directory")
    yield from _plain(arguments)


def _output_options(*names: str) -> Callable[[tuple[Word, ...]], Iterator[Word]]:
    def find(arguments: tuple[Word, ...]) -> Iterator[Word]:
        yield from _values_of(arguments, *names)

    return find


def _dd(arguments: tuple[Word, ...]) -> Iterator[Word]:
    for word in arguments:
        if word.text.startswith("of="):
            yield Word(word.text[len("of=") :], word.is_dynamic)


def _sed(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the files of `sed -i`; its first word is the script unless an option has it."""
    options = [word.text for word in arguments if word.text.startswith("-")]
    if any(option.startswith("--in-place") or re.match(r"-[A-Za-z]*i", option) for option in options):
        yield from _plain(arguments)
    if any(re.search(r"(?:^|[;\s/])[wW]\s|e\b", word.text) for word in arguments):
        yield Word("", is_dynamic=True)  # its `w` writes files, its `e` runs commands


def _git(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the files that a subcommand names and changes; which others it changes, nobody knows."""
    subcommand = arguments[0].text if arguments else ""
    if subcommand in ("rm", "mv"):
        yield from _plain(arguments[1:])
    elif subcommand in ("checkout", "restore", "clean"):
        names = [word.text for word in arguments]
        if "--" in names:
            yield from arguments[names.index("--") + 1 :]
        elif subcommand == "restore":
            yield from _plain(arguments[1:])
    yield Word("", is_dynamic=True)


def _find(arguments: tuple[Word, ...]) -> Iterator[Word]:
    actions = {"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls", "-fprint0"}
    if any(word.text in actions for word in arguments):
        yield from _plain(arguments)[:1]
        yield Word("", is_dynamic=True)


def _archive(arguments: tuple[Word, ...]) -> Iterator[Word]:
    """Yield the folder into which an archive is extracted, or the archive; which files it has, nobody knows."""
    yield from _values_of(arguments, "-C", "-d", "--directory", "-f", "--file")
    yield Word("", is_dynamic=True)


def _values_of(arguments: tuple[Word, ...], *names: str) -> Iterator[Word]:
    """Yield the values of options: in the next word, behind `=`, or behind a short option's letter."""
    for index, word in enumerate(arguments):
        for name in names:
            if word.text == name:
                yield from arguments[index + 1 : index + 2]
            elif name.startswith("--") and word.text.startswith(f"{name}="):
                yield Word(word.text[len(name) + 1 :], word.is_dynamic)
            elif not name.startswith("--") and word.text.startswith(name) and not word.text.startswith("--"):
                yield Word(word.text[len(name) :], word.is_dynamic)


def _after_option(arguments: tuple[Word, ...], letter: str) -> tuple[Word, ...]:
    """Return the words behind an option that may be joined with others, such as `-lc`."""
    for index, word in enumerate(arguments):
        if re.fullmatch(r"-[A-Za-z]+", word.text) and letter[1] in word.text:
            return arguments[index + 1 :]
    return ()


def _only_asks_version(arguments: tuple[Word, ...]) -> bool:
    return [word.text for word in arguments] in (["--version"], ["-V"], ["version"])


_TARGETS: Final[Mapping[str, Callable[[tuple[Word, ...]], Iterator[Word]]]] = {
    **dict.fromkeys(("tee", "touch", "mkdir", "rmdir", "rm", "unlink", "shred", "truncate", "mkfifo", "mktemp"), _all),
    **dict.fromkeys(("chmod", "chown", "chgrp", "chattr", "setfacl"), _all_but_first),
    **dict.fromkeys(("cp", "install", "ln", "rsync", "scp", "link"), _destination),
    **dict.fromkeys(("mv", "rename"), _sources_and_destination),
    **dict.fromkeys(("tar", "unzip", "cpio", "7z", "patch", "gzip", "gunzip", "bzip2", "xz", "zip"), _archive),
    "dd": _dd,
    "git": _git,
    "sed": _sed,
    "find": _find,
    "sort": _output_options("-o", "--output"),
    "curl": _output_options("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-dir"),
    "wget": _output_options("-O", "--output-document", "-P", "--directory-prefix", "-o", "--output-file"),
}
