"""Size of a folder on disk, for a limit on what programs leave in it."""

import os
from collections.abc import Collection
from pathlib import Path

MIN_ENTRY_BYTES = 4096
"""What an entry counts for at least: an empty file takes room as well."""

BLOCK_BYTES = 512
"""Unit of `st_blocks`, on every file system."""

UNREADABLE = 2**63
"""Size of a folder with a part that cannot be read: a program could hide files there."""


def measure_folder(folder: Path, max_bytes: int, hidden: Collection[Path] = ()) -> int:
    """Return the bytes on disk of all that is in a folder, without the folders in `hidden`; blocks.

    Counting ends above `max_bytes`. Links are not followed, and what is deleted meanwhile counts for nothing.
    """
    total, todo, left_out = 0, [str(folder)], set(map(str, hidden))
    while todo and total <= max_bytes:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    total += max(entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES, MIN_ENTRY_BYTES)
                    if entry.is_dir(follow_symlinks=False) and entry.path not in left_out:
                        todo.append(entry.path)
                    if total > max_bytes:
                        break
        except FileNotFoundError:
            continue
        except OSError:
            return UNREADABLE
    return total
