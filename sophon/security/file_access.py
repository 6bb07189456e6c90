"""File access: the files that a tool call would read, write or delete, by its action type and arguments."""

import posixpath
import shlex
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon._python.lazy_pattern import lazy_pattern
from sophon.security.action_types import PATH_ARGUMENTS, find_paths, has_path_arguments
from sophon.security.assessed_arguments import SHELL_ARGUMENTS, has_command
from sophon.security.commands.shell_patterns import MAX_NAMES, expand_pattern
from sophon.security.protection import has_protected_name, may_be_protected

if TYPE_CHECKING:
    from sophon.security.commands.nested_scripts import Commands

Operation: TypeAlias = Literal["read", "write", "delete", "fill", "unclear"]
"""What is done with a file or folder. `fill`: files whose names are not known are put into a folder, or could be.
`unclear`: a program of which nobody knows what it does names the file.
"""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """A file or folder, with its absolute path, and what would be done with it."""

    path: str
    operation: Operation


READING_ACTIONS: Final = frozenset(
    {"read_file", "list_directory", "search_files", "grep_files", "pdf_read", "spreadsheet_read", "browser_navigate"}
)
"""Action types that write no file."""
_DESTINATIONS: Final = frozenset({"destination", "dst", "dest", "new_path"})
_DELETES: Final = frozenset({"delete_file", "delete_directory", "move_file", "move_directory"})

_READ_ARGUMENTS: Final = frozenset({"source", "src", "old_path", "attachment", "attachments"})
"""Arguments that are only read by an action that writes elsewhere; a move deletes them."""


class TooManyFiles(ValueError):
    """A call that names more files than are looked at: each takes calls of the system, and other turns wait."""


MAX_FILES: Final = 4000
"""Files that one call may name."""


def find_file_accesses(action_type: str, arguments: Mapping[str, Any], folder: str) -> list[FileAccess]:
    """Return the file accesses of a call; relative paths and `~` are taken from `folder`, the absolute files folder.

    Of an action type that is not known every path counts as written. Of a shell command the targets count as
    written, and every other word as read: any of them may be the name of a file. Raises TooManyFiles.
    """
    if action_type == "execute_command":
        command = read_command_text(arguments)
        found = _find_in_command(command, folder) if command else []
    else:
        named = (
            FileAccess(_resolve(path, folder), _find_operation(action_type, name))
            for name in PATH_ARGUMENTS
            if name in arguments
            for path in find_paths({name: arguments[name]})
        )
        found = list(dict.fromkeys(named))
    check_number(len(found))
    return found


def check_number(count: int) -> None:
    """Raise TooManyFiles for the number of files that a call names."""
    if count > MAX_FILES:
        raise TooManyFiles(f"it names more than {MAX_FILES:,} files; name fewer of them in one call")


def may_access_files(action_type: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether the arguments of a call can name a file. Most cannot, and this is the cheap test."""
    return action_type == "execute_command" or has_path_arguments(arguments) or has_command(arguments)


def read_command_text(arguments: Mapping[str, Any]) -> str:
    """Return the command of a call as one text; an argv is quoted and joined, several commands are lines of it. Empty
    without a command.
    """
    parts: list[str] = []
    for name in _COMMAND_ARGUMENTS:
        value: object = arguments.get(name)
        if isinstance(value, list | tuple):
            words = [str(word) for word in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
            parts.append("\n".join(words) if name == "commands" else shlex.join(words))
        elif isinstance(value, str):
            parts.append(value)
    return " ".join(parts)


_COMMAND_ARGUMENTS: Final = (*SHELL_ARGUMENTS, "script", "args", "arguments", "argv")


def add_files_in_folders(accesses: list[FileAccess]) -> list[FileAccess]:
    """Return the accesses, and the files that may get a name in a folder which is written to: `cp x/SOUL.md .`."""
    folders = [each.path for each in accesses if each.operation == "write" and _is_folder(each.path)]
    if not folders or len(folders) == len(accesses):
        return accesses
    names = dict.fromkeys(posixpath.basename(each.path) for each in accesses if each.path not in folders)
    inside = (FileAccess(posixpath.join(folder, name), "write") for folder in folders for name in names if name)
    known = set(accesses)
    return [*accesses, *(each for each in islice(inside, MAX_NAMES) if each not in known)]


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def _find_operation(action_type: str, argument: str) -> Operation:
    if action_type in READING_ACTIONS:
        return "read"
    if action_type in _DELETES:
        return "delete" if argument not in _DESTINATIONS else "write"
    return "read" if argument in _READ_ARGUMENTS else "write"


def _find_in_command(command: str, folder: str) -> list[FileAccess]:
    # Lazy: the grammar of the shell is needed by few processes.
    from sophon.security.commands.nested_scripts import find_all_commands
    from sophon.security.commands.write_targets import find_targets_of_commands

    found = find_all_commands(command)
    targets = find_targets_of_commands(found, folder)
    paths = dict.fromkeys(each for path in targets.paths for each in expand_pattern(path))
    removed = dict.fromkeys(each for path in targets.removed for each in expand_pattern(path))
    written = [FileAccess(path, "write") for path in paths]
    # Only whole folders count as deleted: to write a file anew is as bad as to delete it.
    written += [FileAccess(path, "delete") for path in removed if _is_folder(path)]
    words = (word.text for each in found.commands for word in each.words[1:])
    opened = (redirection.target.text for each in found.commands for redirection in each.redirections)
    named = {_resolve(text.rpartition("=")[2], folder) for text in (*words, *opened) if _may_be_path(text)}
    read = {each for path in named for each in expand_pattern(path)}
    # In front of what is known: of two judgements that are as strict, that of the unknown one counts.
    unclear = [] if targets.is_complete else sorted(_find_mentioned(found, folder))
    return [
        *(FileAccess(path, "unclear") for path in unclear),
        *written,
        *(FileAccess(path, "read") for path in sorted(read)),
    ]


def _find_mentioned(found: "Commands", folder: str) -> set[str]:
    """Return the paths with a protected name that stand anywhere in a command: in code, in an option, in a variable.

    Of `git` only whole words count: its messages are no code. What a program only reads does not count.
    """
    from sophon.security.commands.write_targets import READERS  # lazy, as above

    texts = dict.fromkeys(found.code)
    for each in found.commands:
        if each.name not in READERS or each.name == "env":  # which runs another program
            words = (word.text for word in (*each.words, *each.inputs))
            texts.update((text, None) for text in words if each.name != "git" or " " not in text)
            texts.update(dict.fromkeys(each.assignments))
        texts.update((opened.target.text, None) for opened in each.redirections if opened.operator != "<")
    mentions = (_WORKING_FOLDER.sub(".", match[0]) for text in texts for match in _MENTION.finditer(text))
    # Below a computed folder only the name is known.
    paths = dict.fromkeys(posixpath.basename(each) if "$" in each else each for each in mentions)
    return {_resolve(each, folder) for each in islice(filter(has_protected_name, paths), MAX_NAMES)}


_MENTION: Final = lazy_pattern(r"[\w.~$][\w.~/+${}-]*")
_WORKING_FOLDER: Final = lazy_pattern(r"^(?:\$(?:PWD\b|\{PWD\})|~\+)")


def find_unlisted_accesses(action_type: str, arguments: Mapping[str, Any], folder: str) -> list[FileAccess]:
    """Return the accesses of a shell command to files that it does not name: those of the archives, patches and folders
    that it unpacks or copies, which are read for it, and of links to folders. Reads files.

    Where the names cannot be told, and for a command that cannot be parsed, it is access `fill` to the folder.
    """
    command = read_command_text(arguments) if action_type == "execute_command" else ""
    if not command:
        return []
    from sophon.security.commands.nested_scripts import find_all_commands
    from sophon.security.commands.unpacked_names import find_unpacked_names
    from sophon.security.commands.write_targets import find_targets_of_commands

    found = find_all_commands(command)
    targets = find_targets_of_commands(found, folder)
    accesses = [FileAccess(path, "fill") for path in targets.linked if _is_folder(path)]
    if not found.is_readable:
        accesses.append(FileAccess(folder, "fill"))
    for unpacking in targets.unpacked:
        names = find_unpacked_names(unpacking)
        if names is None:
            accesses.append(FileAccess(unpacking.folder, "fill"))
        else:
            base = posixpath.realpath(unpacking.folder)
            protected = (name for name in names if may_be_protected(name, base))
            accesses += (FileAccess(posixpath.normpath(posixpath.join(base, name)), "write") for name in protected)
    return list(dict.fromkeys(accesses))


def may_name_unlisted_files(action_type: str, arguments: Mapping[str, Any], folder: str) -> bool:
    """Return whether `find_unlisted_accesses` has to read files."""
    command = read_command_text(arguments) if action_type == "execute_command" else ""
    if not command:
        return False
    from sophon.security.commands.nested_scripts import find_all_commands
    from sophon.security.commands.write_targets import find_targets_of_commands

    found = find_all_commands(command)
    targets = find_targets_of_commands(found, folder)
    return bool(targets.unpacked or targets.linked) or not found.is_readable


def _may_be_path(text: str) -> bool:
    return 0 < len(text) <= _MAX_PATH_CHARACTERS and "\n" not in text and "\0" not in text


_MAX_PATH_CHARACTERS: Final = 4096


def _resolve(path: str, folder: str) -> str:
    return posixpath.join(folder, posixpath.expanduser(path.replace("\0", "")))
