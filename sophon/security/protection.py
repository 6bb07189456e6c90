"""Protection of named files and folders: what an agent may do to the files that define and control it.

Names and levels are those of OpenParallax (protection levels), and beside them the files of a Sophon host.
A name is protected directly in the root and in the folder of a principal in it, a control folder at any depth.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Final, Literal, TypeAlias, get_args

from sophon.principals import PRINCIPALS_FOLDER

ProtectionLevel: TypeAlias = Literal["none", "tier1", "tier2", "read_only", "blocked"]
"""From the least to the most strict. `none`: allowed. `tier1`, `tier2`: at least this tier of Shield must allow it.
`read_only`: only reading is allowed. `blocked`: not allowed."""

_STRICTNESS: Final[tuple[ProtectionLevel, ...]] = get_args(ProtectionLevel)

_READ_ONLY: Final = frozenset({"soul.md", "identity.md"})
_TIER2: Final = frozenset({"agents.md", "heartbeat.md"})
_TIER1: Final = frozenset({"user.md", "memory.md"})
_BLOCKED: Final = frozenset(
    {
        *("config.yaml", "canary.token", "audit.jsonl", "openparallax.db"),
        *("appsettings.json", "appsettings.local.json", "sophon.db", "sophon.db-wal", "sophon.db-shm", ".env"),
    }
)
_BLOCKED_FOLDERS: Final = frozenset({"security"})
_READ_ONLY_FOLDERS: Final = frozenset({"skills"})
_CONTROL_FOLDERS: Final = frozenset({".openparallax", ".sophon"})

PROTECTED_NAMES: Final = tuple(
    f"{PurePath(name).stem.upper()}.md" if name.endswith(".md") else name
    for names in (_READ_ONLY, _READ_ONLY_FOLDERS, _TIER2, _TIER1, _BLOCKED, _BLOCKED_FOLDERS, _CONTROL_FOLDERS)
    for name in sorted(names)
)
"""The files and folders that are protected, as they are usually spelled."""

_PROTECTED_PARTS: Final = frozenset(
    _READ_ONLY | _READ_ONLY_FOLDERS | _TIER2 | _TIER1 | _BLOCKED | _BLOCKED_FOLDERS | _CONTROL_FOLDERS
)

_MAX_PATH_CHARACTERS: Final = 4096
_MAX_PARTS: Final = 200
"""Longer and deeper paths are blocked: to resolve the links of each prefix would take minutes."""

_SPELLINGS: Final = tuple(
    sorted(
        {
            spelling
            for name in _READ_ONLY | _TIER2 | _TIER1 | _BLOCKED | _BLOCKED_FOLDERS | _READ_ONLY_FOLDERS
            for spelling in (name, f"{PurePath(name).stem.upper()}{PurePath(name).suffix}")
        }
    )
)
"""Names that are looked for in the root, to find links to what is protected: no listing of a large folder."""


def protection_level(path: str, operation: str, root: str) -> ProtectionLevel:
    """Return what stands between an agent and the operation (`read`, `write`, `delete`, `fill`; any other is a write).

    What might be a write, `unclear`, needs `tier2` where a write would be refused or judged.

    `path` must be absolute: a relative one, one with a NUL character, and one that is too long are blocked. A path has
    the strictest level of all its names: as written, with any of its symbolic links resolved, and as a link to a
    protected file or folder of the root, symbolic or hard. Names are compared without regard to case, because file
    systems may be. To delete the root, or a folder that it is in, is to delete what is protected in it; to fill it with
    files whose names are not known has `tier2`.
    """
    if not PurePath(path).is_absolute() or "\0" in path or "\0" in root:
        return "blocked"
    if len(path) > _MAX_PATH_CHARACTERS or path.count(os.sep) > _MAX_PARTS:
        return "blocked"
    base = os.path.realpath(root)
    written, resolved = os.path.normpath(path), os.path.realpath(path)
    names = {written, resolved, *_find_hard_linked_names(resolved, base), *_find_linked_names(resolved, base)}
    if written != resolved or os.pardir in path:
        names.update(_resolve_prefixes(path))
    roots = {base, os.path.normpath(root)}
    levels = [level_within_root(os.path.relpath(name, each), operation) for name in names for each in roots]
    holds_root = resolved == base or base.startswith(resolved.rstrip(os.sep) + os.sep)
    if operation == "fill" and holds_root:
        levels.append("tier2")
    if operation == "delete" and holds_root:
        # With the folder goes what is protected in it.
        levels += [level_within_root(Path(name).name, operation) for name in _protected_names(base) if _stat(name)]
    return _STRICTNESS[max(map(_STRICTNESS.index, levels))]


def has_protected_name(path: str) -> bool:
    """Return whether a part of a path is spelled like a protected file or folder, in any case."""
    return any(part.casefold() in _PROTECTED_PARTS for part in PurePath(path).parts)


def may_be_protected(name: str, folder: str) -> bool:
    """Return whether a file of this name in a folder, which has no links in its path, could be a protected one.

    Not for sure: it has a protected name among its own, leaves the folder, or is a link or below one.
    """
    path = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118 - runs for each file of an archive
    if not path.startswith(folder.rstrip(os.sep) + os.sep) or os.path.realpath(path) != path:
        return True
    if has_protected_name(path):
        return True
    found = _stat(path)
    return found is not None and found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode)


def level_within_root(relative: str, operation: str) -> ProtectionLevel:
    """Return the level of a path relative to the root by its name alone: links are not resolved."""
    parts = [part.casefold() for part in PurePath(relative).parts]
    if any(part in _CONTROL_FOLDERS for part in parts):
        return "blocked"
    if parts[:1] == [PRINCIPALS_FOLDER]:
        if len(parts) <= _OWN_FILE and operation in _WHOLE_FOLDER:
            return _WHOLE_FOLDER[operation]
        parts = parts[_OWN_FILE:]
    if not parts or parts[0] == os.pardir:
        return "none"  # about paths outside the root the policy decides
    if parts[0] in _BLOCKED_FOLDERS:
        return "blocked"
    if parts[0] in _READ_ONLY_FOLDERS:
        if operation == "read":
            return "none"
        return "tier2" if operation == "unclear" else "read_only"
    return _level_of_name(parts[0], operation) if len(parts) == 1 else "none"


_OWN_FILE: Final = 2
"""Index of the name of a principal's file in `principals/NAME/USER.md`."""

_WHOLE_FOLDER: Final[Mapping[str, ProtectionLevel]] = {"delete": "blocked", "fill": "tier2"}
"""Levels of the folder of a principal, and of that of all: their protected files go with it."""


def _level_of_name(name: str, operation: str) -> ProtectionLevel:
    if name in _BLOCKED:
        return "blocked"
    if operation == "read":
        return "none"
    if name in _READ_ONLY:
        return "tier2" if operation == "unclear" else "read_only"
    if name in _TIER2:
        return "blocked" if operation == "delete" else "tier2"
    if name in _TIER1:
        return "tier2" if operation == "unclear" else "tier1"
    return "none"


def _resolve_prefixes(path: str) -> Iterator[str]:
    """Yield the path with the links of each of its prefixes resolved: a protected name may itself be a link."""
    parts = PurePath(path).parts
    for count in range(1, len(parts) + 1):
        yield os.path.normpath(Path(os.path.realpath(PurePath(*parts[:count])), *parts[count:]))


def _find_hard_linked_names(resolved: str, base: str) -> Iterator[str]:
    """Yield the protected names in the root that are hard links to the same file."""
    own = _stat(resolved)
    if own is None or own.st_nlink < 2 or stat.S_ISDIR(own.st_mode):
        return
    for name in _protected_names(base):
        entry = _stat(name)
        if entry is not None and os.path.samestat(own, entry):
            yield name


def _find_linked_names(resolved: str, base: str) -> Iterator[str]:
    """Yield the names that a file has below a protected symbolic link in the root."""
    folder = _stat(base)
    if folder is None:
        return
    for name, target in _find_links(base, folder.st_mtime_ns):
        if resolved == target or resolved.startswith(target + os.sep):
            yield name + resolved[len(target) :]


@lru_cache(maxsize=64)
def _find_links(base: str, modified_ns: int) -> tuple[tuple[str, str], ...]:
    """Return the protected names in the root that are symbolic links, and what they point to.

    A link cannot be made, removed or replaced without a change of the folder's time of modification.
    """
    return tuple(
        (name, os.path.realpath(name))
        for name in _protected_names(base)
        if (entry := _stat(name)) is not None and stat.S_ISLNK(entry.st_mode)
    )


def _protected_names(base: str) -> list[str]:
    return [os.path.join(base, spelling) for spelling in _SPELLINGS]  # noqa: PTH118 - runs for each tool call


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None
