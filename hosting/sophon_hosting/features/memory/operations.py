"""Operations on long-term memory: search, show, correct, delete, export, import. Users have theirs, operators all."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from sophon._python.value_rules import ValueRules
from sophon.composition.part_factories import find_memory_folder
from sophon.errors import InputError
from sophon.memory.workspace_index import FileChunk
from sophon.stores.memories.contract import MemoryEntry
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.memory.results import (
    DeletedMemories,
    ImportedMemories,
    MemoryExport,
    MemorySearch,
    MemoryView,
    chunk_to_json,
    memory_export_to_json,
    memory_to_json,
)
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Everything, Limit, NoFields, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table

table = Table("memory")

MAX_FILES: Final = 20
"""Chunks of files that a search returns."""


async def _find(caller: Caller, entry_id: str) -> MemoryEntry | None:
    return (await caller.store.memories.find([entry_id])).get(entry_id)


MEMORY_ENTRY = Subject("memory entry", "entry_id", _find, lambda entry: entry.scope)


class SearchMemory(Request):
    """Without `q`: the newest entries."""

    q: str = ""
    limit: Limit = 100
    everything: Everything = False


class NamedEntry(Request):
    """An entry by its id."""

    entry_id: Annotated[str, Doc("The id of an entry.")]


class MemoryCorrection(NamedEntry):
    """The right text."""

    text: Annotated[str, ValueRules(min_length=1, max_length=20_000)]


class MemoryDeletion(Request):
    """Either `ids` or `all`."""

    ids: Annotated[str, Doc("Separated by commas, such as those of one event `memory_learned`.")] = ""
    all: bool = False


class MemoryImport(Request):
    """The `items` of an export, at most 10,000."""

    items: Annotated[list[Any], ValueRules(max_length=10_000)]


@table.operation("GET /api/memory", needs="Memory")
async def search_memory(caller: Caller, request: SearchMemory) -> MemorySearch:
    """Search entries, best match first; and `files`, the chunks of the user's workspace files that match.

    An entry has `trusted` and `sources`, the untrusted texts that it may come from.
    """
    if request.everything:
        entries = await caller.store.memories.search(request.q, limit=request.limit)
        return {"items": [_show(caller, each) for each in entries], "files": []}
    found = await caller.memory.search(request.q, scope=caller.user.id, limit=request.limit)
    files = await _search_files(caller, request.q)
    return {"items": [_show(caller, each.entry) for each in found], "files": [chunk_to_json(each) for each in files]}


@table.operation("GET /api/memory/{entry_id}", needs="Memory", on=MEMORY_ENTRY)
async def get_memory_entry(caller: Caller, request: NamedEntry, entry: MemoryEntry) -> MemoryView:
    """Return one entry."""
    return _show(caller, entry)


@table.operation(
    "PATCH /api/memory/{entry_id}", needs="Memory", on=MEMORY_ENTRY, example={"text": "Ada plays the bassoon."}
)
async def correct_memory_entry(caller: Caller, request: MemoryCorrection, entry: MemoryEntry) -> MemoryView:
    """Replace the text of an entry, which is trusted from then on."""
    return _show(caller, await caller.memory.correct(entry, request.text))


@table.operation("DELETE /api/memory/{entry_id}", needs="Memory", on=MEMORY_ENTRY, ok=True)
async def delete_memory_entry(caller: Caller, request: NamedEntry, entry: MemoryEntry) -> Done:
    """Delete one entry."""
    await caller.memory.forget(entry.id, scope=entry.scope)
    return {}


@table.operation("DELETE /api/memory", needs="Memory")
async def delete_memory(caller: Caller, request: MemoryDeletion) -> DeletedMemories:
    """Delete some entries of the user, or everything; `deleted` counts them. Unknown ids are ignored."""
    scope, ids = caller.user.id, [each for each in request.ids.split(",") if each]
    if bool(ids) is request.all:
        raise InputError("give ids of entries, or all=true to forget everything")
    if request.all:
        return {"deleted": await caller.memory.forget_all(scope)}
    known = await caller.store.memories.find(ids)
    own = [each for each in known.values() if each.scope == scope]
    for entry in own:
        await caller.memory.forget(entry.id, scope=scope)
    return {"deleted": len(own)}


@table.operation("GET /api/memory/export", needs="Memory")
async def export_memory(caller: Caller, request: NoFields) -> MemoryExport:
    """Return everything that is remembered of the user, in `items`, oldest first: what an import takes."""
    return memory_export_to_json(await caller.memory.export(caller.user.id))


@table.operation(
    "POST /api/memory/import",
    needs="Memory",
    example={"items": [{"id": "m1", "text": "Ada is a vet.", "created_at": "2026-01-31T08:00:00+00:00"}]},
)
async def import_memory(caller: Caller, request: MemoryImport) -> ImportedMemories:
    """Store the entries of an export as the user's own; nothing if one is invalid."""
    return {"imported": await caller.memory.import_entries(caller.user.id, request.items)}


async def _search_files(caller: Caller, query: str) -> Sequence[FileChunk]:
    folder = find_memory_folder(caller.settings, caller.folder)
    if folder is None:
        return ()
    return await caller.host.services.workspace(folder).search(query, owner=caller.user.id, limit=MAX_FILES)


def _show(caller: Caller, entry: MemoryEntry) -> MemoryView:
    to_client_id = caller.sessions.to_client_id  # the origin ends with the id of a session
    return memory_to_json(replace(entry, origin=to_client_id(entry.origin), session_id=to_client_id(entry.session_id)))
