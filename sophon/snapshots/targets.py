"""Targets of a call: the files in the files folder that it would write, move or delete."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, Final

from sophon.risk import Risk
from sophon.security.action_types import ACTION_TYPES, has_path_arguments
from sophon.security.file_access import READING_ACTIONS, FileAccess, find_file_accesses, read_command_text

MAX_TARGETS: Final = 1001
"""One more than a snapshot may have: whoever asks learns that there are too many, and does not wait for all."""

_REMOVES: Final = re.compile(r"(?:^|[\s;&|(`/])(?:rm|rmdir|mv|rename|find|rsync|shred|unlink)(?![\w.-])")
"""Commands that remove or move whole folders. One too many costs copies, none of them a file."""


def may_write_file(action_type: str, risk: Risk, arguments: Mapping[str, Any]) -> bool:
    """Return whether a call may write a file that its arguments name; most calls do not, at little cost.

    A tool of an unknown action type whose risk is below medium only reads: that is what its risk says.
    """
    if action_type == "execute_command":
        return True
    if action_type not in ACTION_TYPES and risk < Risk.MEDIUM:
        return False
    return has_path_arguments(arguments) and action_type not in READING_ACTIONS


def find_written_accesses(action_type: str, arguments: Mapping[str, Any], root: str) -> tuple[list[FileAccess], bool]:
    """Return the accesses of a call that may write, and whether it may remove whole folders."""
    accesses = find_file_accesses(action_type, arguments, root)
    if all(access.operation == "read" for access in accesses):
        return [], False
    removes = any(access.operation == "delete" for access in accesses) or (
        action_type == "execute_command" and _REMOVES.search(read_command_text(arguments)) is not None
    )
    return accesses, removes


def find_target_paths(accesses: list[FileAccess], root: str, *, removes: bool, excluded: str) -> list[str]:
    """Return the files that would be written, relative to the root, free of links; some may not exist yet.

    What is written into a folder gets the name of what it comes from. A folder that may be removed or moved stands for
    all its files. Files outside the root, and those below the folder `excluded`, are none of them; at most
    `MAX_TARGETS` are returned. Raises OSError.
    """
    base, hidden = os.path.realpath(root), os.path.realpath(excluded)
    names = {PurePath(access.path).name for access in accesses}
    found: dict[str, None] = {}
    for access in accesses:
        if access.operation != "read":
            for path in _expand(os.path.realpath(access.path), base, names, removes=removes):
                resolved = os.path.realpath(path)
                if _is_below(resolved, base) and not _is_below(resolved, hidden):
                    found[os.path.relpath(resolved, base)] = None
                if len(found) >= MAX_TARGETS:
                    return list(found)
    return list(found)


def _expand(path: str, base: str, names: set[str], *, removes: bool) -> Iterator[str]:
    """Yield the files that a target stands for; only those below `base` are looked for."""
    if not Path(path).is_dir():
        yield path
    elif removes:
        start = base if _is_below(base, path) else path
        if start == base or _is_below(start, base):
            for folder, _, files in os.walk(start, onerror=_raise):
                yield from (os.path.join(folder, name) for name in files)  # noqa: PTH118 - as os.walk gives them
    else:
        own = PurePath(path).name
        yield from (each for name in names - {own, ""} if os.path.isfile(each := os.path.join(path, name)))  # noqa: PTH113, PTH118


def _raise(error: OSError) -> None:
    raise error


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
