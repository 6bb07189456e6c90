"""Unpacking: folders into which a command puts files whose names stand elsewhere: in an archive, a patch, a folder."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.security.commands.command_program import Program
from sophon.security.commands.program_targets import has_target_option, plain_words
from sophon.security.commands.syntax import SimpleCommand, Word
from sophon.security.commands.tar_options import read_tar

SourceKind: TypeAlias = Literal["tar", "zip", "patch", "folder", "unknown"]


@dataclass(frozen=True, slots=True)
class Unpacking:
    """Files are put into `folder`, under names that the sources have, without their first `strip` folders.

    `sources` are paths; more than one where it is not known in which folder a relative one is. `text` is that of a
    patch in the command itself. Without both, and of the kind `unknown`, nobody knows the names.
    """

    kind: SourceKind
    folder: str = "."
    sources: tuple[str, ...] = ()
    strip: int = 0
    text: str = ""

    def resolve(self, folder: str, working_folders: list[str]) -> "Unpacking":
        """Return it with absolute paths; relative sources may be in any of the working folders."""
        found = (
            posixpath.normpath(posixpath.join(each, source)) for source in self.sources for each in working_folders
        )
        return replace(self, folder=folder, sources=tuple(dict.fromkeys(found)))


def find_unpackings(program: Program, command: SimpleCommand) -> Iterator[Unpacking]:
    """Yield what a command unpacks; `program` is that of the command."""
    read = _UNPACKERS.get(program.name)
    if read is not None:
        yield from read(program.arguments, command)


def _tar(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    call = read_tar(arguments)
    if not call.extracts:
        return
    source = call.archive or _standard_input(command)
    folder = posixpath.join("", *(word.text for word in call.folders)) or "."
    if not call.is_plain or source is None or source.is_dynamic:
        yield Unpacking("unknown", folder)
    else:
        yield Unpacking("tar", folder, (source.text,), call.strip)


def _unzip(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    flags = "".join(word.text[1:] for word in arguments if re.fullmatch(r"-[A-Za-z]+", word.text))
    if set(flags) & set("ltvpZz"):
        return
    folder, archive, rest = ".", None, list(arguments)
    while rest:
        word = rest.pop(0)
        if re.fullmatch(r"-[a-zA-Z]*d", word.text) and rest:
            folder = rest.pop(0).text
        elif word.text.startswith("-d"):
            folder = word.text[2:]
        elif word.text == "-P" and rest:
            rest.pop(0)
        elif not word.text.startswith("-") and archive is None:
            archive = word
    is_plain = archive is not None and not archive.is_dynamic and not set(flags) & set("j:^")
    yield (
        Unpacking("zip", folder, (archive.text,)) if archive is not None and is_plain else Unpacking("unknown", folder)
    )


def _seven_zip(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    if arguments and arguments[0].text in ("x", "e"):
        folder = next((word.text[2:] for word in arguments if word.text.startswith("-o") and len(word.text) > 2), ".")
        yield Unpacking("unknown", folder)


def _cpio(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    letters = "".join(word.text[1:] for word in arguments if re.fullmatch(r"-[A-Za-z]+", word.text))
    if set(letters) & set("ipr") or any(word.text in ("--extract", "--pass-through") for word in arguments):
        words = plain_words(arguments)
        yield Unpacking("unknown", words[-1].text if words and "p" in letters else ".")


def _jar(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    if arguments and "x" in arguments[0].text:
        yield Unpacking("unknown")


def _patch(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    """Yield the files of a patch that names them itself."""
    named = [word for word in plain_words(arguments) if word.text]
    if len(named) > 0 and not _value(arguments, "-i", "--input", "-d", "--directory", "-p", "--strip"):
        return  # the file to patch is given
    folder = _value(arguments, "-d", "--directory")
    source = _value(arguments, "-i", "--input") or _standard_input(command)
    strip = _value(arguments, "-p", "--strip")
    yield _patch_of(source, command, folder.text if folder else ".", strip.text if strip else None)


def _patch_of(source: Word | None, command: SimpleCommand, folder: str, strip: str | None) -> Unpacking:
    count = int(strip) if strip is not None and strip.isdigit() else ANY_STRIP
    if source is not None and not source.is_dynamic:
        return Unpacking("patch", folder, (source.text,), count)
    if len(command.inputs) == 1 and not command.inputs[0].is_dynamic:
        return Unpacking("patch", folder, (), count, command.inputs[0].text)
    return Unpacking("unknown", folder)


def _git(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    """Yield the folders whose files a subcommand replaces by those of the repository, or of a patch."""
    words = [word.text for word in arguments]
    subcommand, rest = (words[0], arguments[1:]) if words else ("", ())
    if subcommand in ("checkout", "restore"):
        for word in plain_words(rest):
            if word.text in _FOLDERS or word.text.endswith("/"):
                yield Unpacking("unknown", word.text)
    elif subcommand == "clean" or (subcommand == "reset" and "--hard" in words):
        yield Unpacking("unknown")
    elif subcommand == "apply":
        files: list[Word | None] = [*plain_words(rest)] or [None]
        for file in files:
            strip = _value(rest, "-p")
            yield _patch_of(file or _standard_input(command), command, ".", strip.text if strip else "1")
    elif subcommand == "clone":
        plain = plain_words(rest)
        if len(plain) > 1:
            yield Unpacking("unknown", plain[-1].text)


def _copy(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    """Yield the folders whose content `cp` puts into another folder: `cp -r x/. .`, `cp -rT x .`."""
    words = plain_words(arguments)
    options = [word.text for word in arguments if word.text.startswith("-")]
    as_file = any(each == "--no-target-directory" or re.fullmatch(r"-[A-Za-z]*T[A-Za-z]*", each) for each in options)
    if len(words) < 2 or has_target_option(arguments):
        return
    for word in words[:-1]:
        if as_file or word.text.endswith(("/.", "/..")) or word.text in (".", ".."):
            yield _folder_of(word, words[-1])


def _rsync(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    """Yield the folders whose content `rsync` puts into another folder: those that end with a slash."""
    words = plain_words(arguments)
    for word in words[:-1]:
        if _REMOTE.match(word.text) and not _REMOTE.match(words[-1].text):
            yield Unpacking("unknown", words[-1].text)
        elif word.text.endswith(("/", "/.")) or word.text in (".", ".."):
            yield _folder_of(word, words[-1])


def _folder_of(source: Word, destination: Word) -> Unpacking:
    if source.is_dynamic:
        return Unpacking("unknown", destination.text)
    return Unpacking("folder", destination.text, (source.text,))


def _wget(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    """Yield the folder of downloads whose names the server or a list chooses."""
    chosen = ("-i", "--input-file", "--content-disposition", "--trust-server-names", "-r", "--recursive", "-m")
    if any(word.text.startswith(chosen) for word in arguments):
        folder = _value(arguments, "-P", "--directory-prefix")
        yield Unpacking("unknown", folder.text if folder else ".")


def _curl(arguments: tuple[Word, ...], command: SimpleCommand) -> Iterator[Unpacking]:
    if any(word.text == "--remote-header-name" or re.match(r"-[A-Za-z]*J", word.text) for word in arguments):
        folder = _value(arguments, "--output-dir")
        yield Unpacking("unknown", folder.text if folder else ".")


def _value(arguments: tuple[Word, ...], *names: str) -> Word | None:
    """Return the value of the first of these options that is given."""
    for index, word in enumerate(arguments):
        for name in names:
            if word.text == name:
                return arguments[index + 1] if index + 1 < len(arguments) else None
            if name.startswith("--") and word.text.startswith(f"{name}="):
                return Word(word.text[len(name) + 1 :], word.is_dynamic)
            if not name.startswith("--") and word.text.startswith(name) and not word.text.startswith("--"):
                return Word(word.text[len(name) :], word.is_dynamic)
    return None


def _standard_input(command: SimpleCommand) -> Word | None:
    """Return the file that is redirected to the command."""
    return next((each.target for each in command.redirections if each.operator == "<"), None)


ANY_STRIP: Final = -1
"""Of a patch: the files have the last part of their names, as `patch` takes them without `-p`."""

_FOLDERS: Final = frozenset({".", "..", "./", "*", ":/", ":"})
_REMOTE: Final = re.compile(r"[^/]*:")

_UNPACKERS: Final[Mapping[str, Callable[[tuple[Word, ...], SimpleCommand], Iterator[Unpacking]]]] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar"), _tar),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz", "unrar", "rar"), _seven_zip),
    **dict.fromkeys(("cpio", "pax"), _cpio),
    "unzip": _unzip,
    "jar": _jar,
    "patch": _patch,
    "git": _git,
    "cp": _copy,
    **dict.fromkeys(("rsync", "scp"), _rsync),
    "wget": _wget,
    "curl": _curl,
}
