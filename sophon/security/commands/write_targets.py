"""Write targets: the files and folders that a shell command writes, moves, deletes or changes the rights of."""

import posixpath
import re
from typing import Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.command_program import find_program
from sophon.security.commands.evaluation.script_arguments import SHELLS
from sophon.security.commands.nested_scripts import Commands, find_all_commands
from sophon.security.commands.program_targets import WRITE_TARGETS, has_target_option, link_sources, plain_words
from sophon.security.commands.syntax import Redirection, SimpleCommand, Word
from sophon.security.commands.unpacking import Unpacking, find_unpackings

MAX_PATHS: Final = 10_000
"""Different paths in all folders that the command may be in; beyond them it is incomplete."""

MAX_UNPACKINGS: Final = 50
"""Archives and the like that are looked into."""

MAX_FOLDERS: Final = 16
"""Folders that a command may be in; beyond them it is incomplete."""


@dataclass(frozen=True, slots=True)
class WriteTargets:
    """What a command writes. `is_complete` is False if it may write more than `paths`: a computed name, or a program
    that runs other code; a caller that protects files must then not trust the list alone. `removed` are those of the
    paths that it deletes or moves away, `linked` those that it makes links to; `unpacked` are the folders into which it
    puts files that an archive, a patch or another folder names.
    """

    paths: tuple[str, ...]
    is_complete: bool
    removed: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    unpacked: tuple[Unpacking, ...] = ()


def find_write_targets(command: str, folder: str) -> WriteTargets:
    """Return what a shell command writes, with relative paths resolved against `folder`, the absolute working folder.

    A relative path is resolved against every folder that the command may be in: whether a `cd` in it takes effect
    depends on subshells and on errors. A command that cannot be parsed is incomplete.
    """
    return find_targets_of_commands(find_all_commands(command), folder)


def find_targets_of_commands(commands: Commands, folder: str) -> WriteTargets:
    """Return what the commands of a script write; see `find_write_targets`."""
    collector = _Collector(folder)
    collector.read(commands)
    return WriteTargets(
        tuple(collector.paths),
        collector.is_complete,
        tuple(collector.removed),
        tuple(collector.linked),
        tuple(collector.unpacked),
    )


class _Collector:
    """Collects the targets of one script, in the order of its commands."""

    def __init__(self, folder: str) -> None:
        self.folders = [folder]
        self.paths: dict[str, None] = {}
        self.removed: dict[str, None] = {}
        self.linked: dict[str, None] = {}
        self.unpacked: dict[Unpacking, None] = {}
        self.is_complete = True

    def read(self, found: Commands) -> None:
        self.is_complete = self.is_complete and found.is_complete
        for command in found.commands:
            for redirection in command.redirections:
                self._read_redirection(redirection)
            self._read_command(command)
        spelled = {
            posixpath.normpath(word.text)
            for each in found.commands
            for word in (*each.words, *(redirection.target for redirection in each.redirections))
        }
        for name in found.written:
            if name not in spelled:  # a name that the shell makes up
                self._add_to(self.paths, Word(name))

    def _read_redirection(self, redirection: Redirection) -> None:
        if not redirection.operator.startswith("<") or redirection.operator == "<>":
            self._add(redirection.target)

    def _read_command(self, command: SimpleCommand) -> None:
        texts = (*command.assignments, *(word.text for word in command.words))
        if any(_CHANGES_PROGRAMS.match(each) for each in texts):
            self.is_complete = False
        if not command.words:
            return
        program = find_program(command)
        if program is None:
            self.is_complete = False
            return
        self.is_complete = self.is_complete and program.is_sure
        self._read_program(program.name, program.arguments)
        for unpacking in find_unpackings(program, command):
            if len(self.unpacked) < MAX_UNPACKINGS:
                folders = [posixpath.normpath(posixpath.join(folder, unpacking.folder)) for folder in self.folders]
                self.unpacked.update((unpacking.resolve(folder, self.folders), None) for folder in folders)
            self.is_complete = False

    def _read_program(self, program: str, arguments: tuple[Word, ...]) -> None:
        if program in ("cd", "pushd"):
            self._change_folder(arguments)
        elif program in SHELLS or program == "eval":
            return  # the commands of its script follow
        elif program in WRITE_TARGETS:
            for word in WRITE_TARGETS[program](arguments):
                self._add(word)
            if program in _REMOVERS:
                # The last word of `mv` is where to.
                names = plain_words(arguments)[: -1 if program == "mv" and not has_target_option(arguments) else None]
                for word in names:
                    self._add_to(self.removed, word)
            self._add_links(link_sources(program, arguments), plain_words(arguments)[-1:])
        elif program not in READERS and not (program in _INTERPRETERS and _only_asks_version(arguments)):
            self.is_complete = False

    def _add_links(self, sources: list[Word], destination: list[Word]) -> None:
        """Add what links are made to. The target of a symbolic link is relative to the link, not to the folder."""
        for source in sources:
            self._add_to(self.linked, source)
            self._add_to(self.paths, source)
            for word in destination:
                for folder in (word.text, posixpath.dirname(word.text)):
                    target = Word(posixpath.join(folder, source.text), is_dynamic=True)
                    self._add_to(self.linked, target)
                    self._add_to(self.paths, target)

    def _change_folder(self, arguments: tuple[Word, ...]) -> None:
        plain = plain_words(arguments)
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


def _only_asks_version(arguments: tuple[Word, ...]) -> bool:
    return [word.text for word in arguments] in (["--version"], ["-V"], ["version"])


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CHANGES_PROGRAMS: Final = re.compile(r"(?:PATH|IFS|ENV|BASH_ENV|SHELLOPTS|LD_[A-Z_]+|DYLD_[A-Z_]+|GIT_[A-Z_]+)=")
"""Variables after whose change a name may mean another program."""
_INTERPRETERS: Final = _words(
    "python python3 perl ruby node deno bun php lua awk gawk mawk ed ex vi vim nvim emacs nano make cmake ninja gcc cc "
    "docker podman kubectl ssh npm npx yarn pnpm pip pip3 uv cargo go java gradle mvn git svn hg apt apt-get yum dnf "
    "systemctl crontab at source ."
)
READERS: Final = _words(
    "cat head tail less more grep egrep fgrep rg ls dir stat file wc cut tr comm diff cmp echo printf pwd date "
    "whoami id uname hostname df du ps top free uptime which type test [ [[ true false sleep env printenv basename "
    "dirname realpath readlink md5sum sha1sum sha256sum hexdump strings jq yq column expr seq yes tree "
    "return exit break continue local declare export readonly typeset unset set shift read wait let shopt alias"
)


_REMOVERS: Final = _words("rm rmdir unlink shred mv")
