"""Results of memory: entries, chunks of workspace files, and the files themselves."""

from typing import Any, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.memory.workspace_index import FileChunk
from sophon.stores.memories.contract import MemoryCategory, MemoryEntry, MemoryReach
from sophon_hosting.features.iso_time import to_iso


class MemoryView(TypedDict):
    """An entry of the long-term memory; `sources` are the untrusted texts that it may come from, null if unknown."""

    id: str
    text: str
    category: MemoryCategory
    scope: str
    reach: MemoryReach
    agent: str
    session_id: str
    entities: list[str]
    relations: list[list[str]]
    origin: str
    trusted: bool
    sources: list[str] | None
    created_at: str | None


class FileChunkView(TypedDict):
    """Lines of a workspace file."""

    file: str
    first_line: int
    last_line: int
    text: str
    trusted: bool


class MemorySearch(TypedDict):
    """The entries that match, the best first, and the chunks of the user's workspace files that do."""

    items: list[MemoryView]
    files: list[FileChunkView]


class MemoryExport(TypedDict):
    """Everything that is remembered of a user, oldest first: what an import takes."""

    items: list[MemoryView]


class DeletedMemories(TypedDict):
    """Number of entries that were deleted."""

    deleted: int


class ImportedMemories(TypedDict):
    """Number of entries that were stored."""

    imported: int


class ListedWorkspaceFile(TypedDict):
    """A workspace file that the user may edit; `shared` if it is everybody's."""

    name: str
    shared: bool
    max_bytes: int


class WorkspaceFileList(TypedDict):
    """The workspace files that the user may edit, in the order of the prompt."""

    items: list[ListedWorkspaceFile]


class WorkspaceFile(TypedDict):
    """A workspace file; `version` is empty for one that is not there."""

    name: str
    text: str
    version: str


def memory_to_json(entry: MemoryEntry) -> MemoryView:
    """Return an entry of the long-term memory as JSON."""
    return {
        "id": entry.id,
        "text": entry.text,
        "category": entry.category,
        "scope": entry.scope,
        "reach": entry.reach,
        "agent": entry.agent,
        "session_id": entry.session_id,
        "entities": list(entry.entities),
        "relations": [[each.subject, each.name, each.object] for each in entry.relations],
        "origin": entry.origin,
        "trusted": entry.is_trusted,
        "sources": list(entry.sources) if entry.sources is not None else None,
        "created_at": to_iso(entry.created_at),
    }


def memory_export_to_json(entries: list[dict[str, Any]]) -> MemoryExport:
    """Return the answer of an export; `entries` are what `LongTermMemory.export` returns."""
    return {"items": cast(list[MemoryView], entries)}


def chunk_to_json(chunk: FileChunk) -> FileChunkView:
    """Return lines of a workspace file as JSON."""
    return {
        "file": chunk.file,
        "first_line": chunk.first_line,
        "last_line": chunk.last_line,
        "text": chunk.text,
        "trusted": chunk.is_trusted,
    }
