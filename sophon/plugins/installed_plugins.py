"""Whether any installed distribution declares an entry point of Sophon, without reading the metadata of all of them."""

import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

METADATA_SUFFIXES = (".dist-info", ".egg-info", "egg-info")
ENTRY_POINTS_FILE = "entry_points.txt"
MARK = b"sophon."
"""Beginning of the name of each group; a file without it declares no plug-in."""
STANDARD_LIBRARY_ARCHIVE = f"python{sys.version_info.major}{sys.version_info.minor}.zip"


def has_plugins() -> bool:
    """Return whether there may be a plug-in; False is certain.

    A folder is read again when it has changed. Only folders are searched: where something else is on the path, or
    distributions are found in another way, the answer is True.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_may_hold_plugins(path, _modified_ns(path)) for path in {Path(each) for each in sys.path})


def _modified_ns(path: Path) -> int | None:
    """Return None for what does not exist."""
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _may_hold_plugins(path: Path, modified_ns: int | None) -> bool:
    if modified_ns is None:
        return False
    try:
        return any(
            _declares_plugin(each / ENTRY_POINTS_FILE)
            for each in path.iterdir()
            if each.name.lower().endswith(METADATA_SUFFIXES)
        )
    except NotADirectoryError:  # an archive, whose metadata only importlib reads
        return path.name != STANDARD_LIBRARY_ARCHIVE
    except OSError:
        return True


def _declares_plugin(file: Path) -> bool:
    try:
        return MARK in file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return False
