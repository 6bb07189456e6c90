"""Sources of the information flow: what the files that a call reads, and its action type, say about its result."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.file_access import TooManyFiles, find_file_accesses, read_command_text
from sophon.security.information_flow.flow_decision import Label
from sophon.security.information_flow.path_labels import classify_path
from sophon.security.linear_patterns import LinearPattern
from sophon.security.policy.path_globs import compile_glob, normalize_path

PRIVATE_ACTIONS: Final = frozenset(
    {
        *("read_file", "grep_files", "pdf_read", "spreadsheet_read", "archive_extract", "memory_search"),
        *("email_list", "email_read", "email_search", "read_calendar", "clipboard_read", "screenshot"),
    }
)
"""Actions whose results are private data."""

LOCAL_ACTIONS: Final = frozenset(
    {
        *("read_file", "list_directory", "search_files", "grep_files", "pdf_read", "spreadsheet_read"),
        *("archive_create", "archive_extract", "write_file", "copy_file", "move_file", "system_info"),
    }
)
"""Actions whose results come from the files of the host: untrusted only if the file was written by who had read
untrusted content."""

_READ_ACTIONS: Final = frozenset({"read_file", "grep_files", "pdf_read", "spreadsheet_read", "archive_extract"})

_WRITE_ACTIONS: Final = frozenset(
    {
        *("write_file", "create_directory", "delete_file", "delete_directory", "spreadsheet_write"),
        *("copy_file", "copy_directory", "move_file", "move_directory"),
    }
)
"""Actions that do not read what they write."""

_NAMES_ONLY_ACTIONS: Final = frozenset({"list_directory", "search_files"})
"""Actions that read names. Names carry no taint to another session: any listing would be as tainted as all files."""

_SYSTEM_FOLDERS: Final = ("/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/proc/", "/sys/", "/dev/")

MAX_LISTED_FILES: Final = 1000
"""Files below a folder whose labels are looked up; with more of them the folder has the label of its name."""

MAX_TOKENS: Final = 10_000
"""Different words of a command that are looked up as files; a command with more of them is refused."""

_SEPARATORS: Final = re.compile(r"[\s'\"`()<>|;&=,:@]+")
_GLOB: Final = re.compile(r"[*?\[{]")


@dataclass(frozen=True, slots=True)
class SourcePath:
    """A file or folder that a call reads, with links resolved; of a folder everything below it may be read."""

    path: str
    is_folder: bool = False


def find_source_paths(action_type: str, arguments: Mapping[str, Any], folder: str) -> list[SourcePath]:
    """Return what a call reads; `folder` is the absolute files folder.

    Of an action that is known to read a file, it counts whether the file exists or not. Any other argument, and a word
    of a command, counts if there is a file of that name. Raises TooManyFiles.
    """
    if action_type == "execute_command":
        return list(_find_in_command(read_command_text(arguments), folder))
    if action_type in _NAMES_ONLY_ACTIONS:
        return []
    accesses = find_file_accesses(action_type, arguments, folder)
    if action_type in _WRITE_ACTIONS:
        accesses = [each for each in accesses if each.operation != "write"]
    return [
        SourcePath(real, Path(real).is_dir())
        for each in accesses
        if (real := os.path.realpath(each.path)) and (action_type in _READ_ACTIONS or os.path.lexists(real))
    ]


def find_written_paths(action_type: str, arguments: Mapping[str, Any], folder: str) -> list[str]:
    """Return the files that a call may write, with links resolved."""
    accesses = find_file_accesses(action_type, arguments, folder)
    return sorted({os.path.realpath(each.path) for each in accesses if each.operation == "write"})


def reads_private_file(paths: Iterable[SourcePath]) -> bool:
    """Return whether one of the paths is a file that does not belong to the operating system."""
    return any(not each.is_folder and not each.path.startswith(_SYSTEM_FOLDERS) for each in paths)


def lies_in_uploads(source: SourcePath, uploads: str) -> bool:
    """Return whether a path is that of files which came with messages of a channel, or of a folder with them: senders
    have written these. `uploads` is the absolute folder of such files.
    """
    if source.path == uploads or source.path.startswith(f"{uploads}/"):
        return True
    return source.is_folder and uploads.startswith(f"{source.path.rstrip('/')}/") and os.path.lexists(uploads)


def classify_source(source: SourcePath, own: "OwnSources", root: str) -> Label:
    """Return the label of a path by its name: by the owner's globs first, whose relative paths begin at `root`."""
    label = own.find_label(source.path, root)
    if label is not None:
        return label
    if not source.is_folder:
        return classify_path(source.path, root)
    named = classify_path(f"{source.path}/", root)
    return named if named in (Label.PUBLIC, Label.CRITICAL) else min(named, _classify_files(source.path, root, named))


def _classify_files(folder: str, root: str, otherwise: Label) -> Label:
    """Return the highest label of the files below a folder, which has none by itself: it may hold code alone."""
    files = (f"{each}/{name}" for each, _, names in os.walk(folder) for name in names)
    listed = list(islice(files, MAX_LISTED_FILES + 1))
    if len(listed) > MAX_LISTED_FILES:
        return otherwise
    return max((classify_path(each, root) for each in listed), default=Label.PUBLIC)


class OwnSources:
    """Labels of files by globs, the first that matches decides. Raises GlobError for a glob that cannot be read."""

    def __init__(self, labels: Iterable[tuple[str, Label]]) -> None:
        self._rules: Sequence[tuple[LinearPattern, Label]] = [
            (compile_glob(glob, widens=True), label) for glob, label in labels
        ]

    def find_label(self, path: str, root: str) -> Label | None:
        """Return the label of an absolute path, or None if no glob matches."""
        if not self._rules:
            return None
        names = [normalize_path(path)]
        if path.startswith(f"{root}/"):
            names.append(path[len(root) + 1 :])
        return next((label for glob, label in self._rules if any(map(glob.fullmatch, names))), None)


@lru_cache(maxsize=16)
def read_own_sources(labels: tuple[tuple[str, str], ...]) -> OwnSources:
    """Return the globs of the settings, each with the name of its label."""
    return OwnSources((glob, Label[label.upper()]) for glob, label in labels)


def _find_in_command(command: str, folder: str) -> Iterator[SourcePath]:
    """Yield the files and folders that any word of a command names, also in a script within a word."""
    found: set[str] = set()
    for token in _tokens(command):
        glob = _GLOB.search(token)
        name = token[: glob.start()].rpartition("/")[0] or "." if glob else token
        path = os.path.realpath(os.path.join(folder, os.path.expanduser(name)))  # noqa: PTH111, PTH118 - may be malformed
        if path not in found and os.path.lexists(path):
            found.add(path)
            yield SourcePath(path, Path(path).is_dir())


def _tokens(command: str) -> list[str]:
    """Return the words of a command, as they are written and as the shell reads them."""
    from sophon.security.commands.syntax import SyntaxProblem, find_commands  # lazy: few processes need the grammar

    written = _SEPARATORS.split(command)
    try:
        commands = find_commands(command)
    except (SyntaxProblem, RecursionError):
        commands = []
    parsed = [word.text for each in commands for word in each.words]
    parsed += [each.target.text for found in commands for each in found.redirections]
    inner = [part for text in parsed for part in (text, *_SEPARATORS.split(text))]
    tokens = dict.fromkeys(each for each in (*written, *inner) if 0 < len(each) <= 4096 and "\0" not in each)
    if len(tokens) > MAX_TOKENS:
        raise TooManyFiles(f"its command has more than {MAX_TOKENS:,} different words; do it in several calls")
    return list(tokens)
