"""The contract of the data labels: the taint of sessions, and of the files and memory entries written in them."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.security.information_flow.taint import Taint


@dataclass(frozen=True, slots=True)
class LabelWrite:
    """A taint for a key. It is merged with that of the key; with `replaces` it takes its place."""

    key: str
    taint: Taint
    replaces: bool = False


class DataLabelStore(Protocol):
    """Repository of taints by key. The taint of a session is deleted and forked with it; that of a file stays."""

    async def find(self, keys: Sequence[str]) -> dict[str, Taint]:
        """Return the taints of these keys; a key without taint is left out."""
        ...

    async def write(self, writes: Sequence[LabelWrite]) -> None:
        """Write taints in order, all or none."""
        ...


def session_key(session_id: str) -> str:
    """Return the key of a session."""
    return f"session:{session_id}"


def name_file(path: str, folder: Path) -> str:
    """Return the name of a file, whose links are resolved, in the store: relative to the host's folder, which may be
    moved, if it is in it.
    """
    root = os.path.realpath(folder)
    return os.path.relpath(path, root) if path == root or path.startswith(f"{root}{os.sep}") else path


def file_key(path: str) -> str:
    """Return the key of a file, by a digest: a path may be longer than an index allows."""
    return f"file:{_digest(path)}"


def folder_key(path: str) -> str:
    """Return the key of what the files anywhere below a folder contain."""
    return f"folder:{_digest(path)}"


def memory_key(entry_id: str) -> str:
    """Return the key of a memory entry."""
    return f"memory:{_digest(entry_id)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
