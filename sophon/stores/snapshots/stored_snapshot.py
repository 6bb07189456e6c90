"""Metadata of snapshots: append-only entries in one hash chain per owner of the files."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.security.audit.audit_chain import AuditEntry


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file as it was: `path` is relative to the owner's files folder.

    `existed` is False for a file that the call was about to create. `digest` is the SHA-256 of the content, "" for a
    file that was too large to be copied; `copy` is the name of the copy, "" if there is none.
    """

    path: str
    existed: bool
    digest: str = ""
    size: int = 0
    mode: int = 0
    copy: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in _FILE_FIELDS}


_FILE_FIELDS: Final = ("path", "existed", "digest", "size", "mode", "copy")


@dataclass(frozen=True, slots=True)
class SnapshotEvent:
    """What a caller adds; the store numbers and chains it. The names of the copies begin with `id` and a dot.

    `tool` is that of the call, or "restore" for what a restoration has replaced.
    """

    id: str
    owner: str
    at: datetime
    session_id: str
    run_id: str
    call_id: str
    tool: str
    files: Sequence[SnapshotFile]

    def build_fields(self) -> dict[str, Any]:
        """Return the fields that the hash covers; the time in UTC with microseconds."""
        at = self.at.astimezone(UTC).isoformat(timespec="microseconds")
        texts = {name: getattr(self, name) for name in SNAPSHOT_COLUMNS}
        return {"at": at, **texts, "files": [file.to_json() for file in self.files]}


SNAPSHOT_COLUMNS: Final = ("id", "owner", "session_id", "run_id", "call_id", "tool")


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """Stored snapshot; `number` counts from 1 per owner."""

    number: int
    event: SnapshotEvent
    previous_hash: str
    hash: str

    def to_entry(self) -> AuditEntry:
        """Return the entry of the hash chain."""
        return AuditEntry(self.number, self.event.build_fields(), self.previous_hash, self.hash)
