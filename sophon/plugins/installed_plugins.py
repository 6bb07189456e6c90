"""Whether any installed distribution declares an entry point of Sophon, without reading the metadata of all of them."""

import os
import sys
from functools import lru_cache
from importlib.machinery import PathFinder

METADATA_SUFFIXES = (".dist-info", ".egg-info")
ENTRY_POINTS_FILE = "entry_points.txt"
MARK = b"sophon."
"""Beginning of the name of each group; a file without it declares no plug-in."""


def has_plugins() -> bool:
    """Return whether there may be a plug-in; False is certain.

    A folder is read again when it has changed. Only folders are searched: where something else is on the path, or
    distributions are found in another way, the answer is True.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_folder_has_plugins(path, _modified_ns(path)) for path in {each or "." for each in sys.path})


def _modified_ns(path: str) -> int | None:
    """Return None for what does not exist."""
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _folder_has_plugins(path: str, modified_ns: int | None) -> bool:
    if modified_ns is None:
        return False
    try:
        names = os.listdir(path)
    except NotADirectoryError:  # an archive, whose metadata only importlib reads; the standard library's has none
        return os.path.basename(path) != _STANDARD_ARCHIVE
    except OSError:
        return True
    return any(
        _declares_plugin(os.path.join(path, name, ENTRY_POINTS_FILE))
        for name in names
        if name.lower().endswith(METADATA_SUFFIXES) or name.lower() == "egg-info"
    )


_STANDARD_ARCHIVE = f"python{sys.version_info.major}{sys.version_info.minor}.zip"


def _declares_plugin(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return MARK in opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
