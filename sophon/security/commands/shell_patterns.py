"""Patterns of the shell: the names that a word with wildcards or braces stands for, on this file system."""

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import PurePath
from typing import Final

MAX_NAMES: Final = 1000
"""Names that a pattern is expanded to."""

MAX_ENTRIES: Final = 10_000
"""Entries of folders that are looked at for one pattern."""

_MAX_CHARACTERS: Final = 4096
_MAGIC: Final = re.compile(r"[*?\[]")
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_ALTERNATIVES: Final = 64


def expand_pattern(path: str) -> Iterator[str]:
    """Yield an absolute path as it is, and the files that it names if the shell takes it for a pattern.

    Whether it was quoted is not known here: a file of that very name, and the expansion, may both be meant.
    """
    yield path
    if len(path) > _MAX_CHARACTERS or "\0" in path or not (_MAGIC.search(path) or _BRACES.search(path)):
        return
    budget = iter(range(MAX_ENTRIES))
    for each in _expand_braces(path):
        if each != path and not _MAGIC.search(each):
            yield each
        elif _MAGIC.search(each):
            yield from islice(_match([os.sep], PurePath(each).parts[1:], budget), MAX_NAMES)


def matches_pattern(path: str, pattern: str) -> bool:
    """Return whether a pattern may stand for a path, part by part, on whatever file system."""
    parts, patterns = path.split("/"), pattern.replace("$HOME", "~").replace("${HOME}", "~").split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _expand_braces(path: str) -> list[str]:
    pending, done = [path], list[str]()
    while pending and len(pending) + len(done) <= _MAX_ALTERNATIVES:
        each = pending.pop()
        found = _BRACES.search(each)
        if found is None:
            done.append(each)
        else:
            pending += [each[: found.start()] + part + each[found.end() :] for part in found[1].split(",")]
    return done + pending


def _match(folders: list[str], parts: Iterable[str], budget: Iterator[int]) -> list[str]:
    """Return the paths below the folders that match the parts, as far as the budget goes."""
    for part in parts:
        if _MAGIC.search(part):
            folders = [
                os.path.join(folder, name)  # noqa: PTH118 - texts, as os.scandir gives them
                for folder in folders
                for name in _list_names(folder, budget)
                if fnmatchcase(name, part) and (part.startswith(".") or not name.startswith("."))
            ]
        else:
            folders = [os.path.join(folder, part) for folder in folders]  # noqa: PTH118
    return [each for each in folders if os.path.lexists(each)]


def _list_names(folder: str, budget: Iterator[int]) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(budget, entries, strict=False):
                yield entry.name
    except (OSError, ValueError):
        return
