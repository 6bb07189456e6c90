"""`/api/memory`: see, search, correct, forget, export and import long-term memory; users their own, operators all."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.configured_parts import find_memory_folder
from sophon.errors import InputError, NotFound
from sophon.memory.workspace_index import FileChunk
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.memories.library import LongTermMemory
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.features.memory.results import (
    DeletedMemories,
    ImportedMemories,
    MemorySearch,
    MemoryView,
    chunk_to_json,
    memory_export_to_json,
    memory_to_json,
)
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    get_authorized_host,
    get_host,
    json_response,
    parse_body,
    parse_query,
)

MAX_FILES = 20
"""Chunks of files that a search returns."""


class MemorySearchQuery(RequestQuery):
    """Query of a memory search: `q`; if empty, the newest entries. `everything` (all users') is for operators."""

    q: str = ""
    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    everything: bool = False


class MemoryCorrection(RequestBody):
    """Body of a correction: the right text of an entry."""

    text: Annotated[str, ValueRules(min_length=1, max_length=20_000)]


class MemoryImport(RequestBody):
    """Body of an import: the `items` of an export."""

    items: Annotated[list[Any], ValueRules(max_length=10_000)]


class MemoryDeletion(RequestQuery):
    """Query of a deletion: `ids`, separated by commas, such as those of one event `memory_learned`; or `all`."""

    ids: Annotated[str, ValueRules(max_length=10_000)] = ""
    all: bool = False


routes = web.RouteTableDef()


@routes.get("/api/memory")
async def search_memory(request: web.Request) -> web.Response:
    """Search entries, best match first; and `files`, the chunks of the user's workspace files that match."""
    query = parse_query(request, MemorySearchQuery)
    authorized_host, memory = _authorize(request)
    files: Sequence[FileChunk] = ()
    if query.everything:
        authorized_host.require_operator()
        store = get_host(request).services.store
        entries = await store.memories.search(query.q, limit=query.limit)
    else:
        found = await memory.search(query.q, scope=authorized_host.user.id, limit=query.limit)
        entries = [each.entry for each in found]
        files = await _search_files(request, query.q, authorized_host.user.id)
    shown = [_to_json(each, authorized_host) for each in entries]
    search: MemorySearch = {"items": shown, "files": [chunk_to_json(each) for each in files]}
    return json_response(search)


@routes.get("/api/memory/{entry_id}")
async def get_memory_entry(request: web.Request) -> web.Response:
    """Return one entry. Raises NotFound."""
    authorized_host, _ = _authorize(request)
    return json_response(_to_json(await _find(request, authorized_host), authorized_host))


@routes.patch("/api/memory/{entry_id}")
async def correct_memory_entry(request: web.Request) -> web.Response:
    """Replace the text of an entry, which is trusted from then on. Raises NotFound, InputError."""
    authorized_host, memory = _authorize(request)
    body = await parse_body(request, MemoryCorrection)
    entry = await _find(request, authorized_host)
    return json_response(_to_json(await memory.correct(entry, body.text), authorized_host))


@routes.delete("/api/memory/{entry_id}")
async def delete_memory_entry(request: web.Request) -> web.Response:
    """Delete one entry. Raises NotFound."""
    authorized_host, memory = _authorize(request)
    entry = await _find(request, authorized_host)
    await memory.forget(entry.id, scope=entry.scope)
    return json_response({"ok": True})


@routes.delete("/api/memory")
async def delete_memory(request: web.Request) -> web.Response:
    """Delete some entries of the user, or everything. Unknown ids are ignored. Raises InputError without either."""
    authorized_host, memory = _authorize(request)
    query, scope = parse_query(request, MemoryDeletion), authorized_host.user.id
    ids = [each for each in query.ids.split(",") if each]
    if bool(ids) is query.all:
        raise InputError("give ids of entries, or all=true to forget everything")
    if query.all:
        everything: DeletedMemories = {"deleted": await memory.forget_all(scope)}
        return json_response(everything)
    known = await get_host(request).services.store.memories.find(ids)
    own = [each for each in known.values() if each.scope == scope]
    for entry in own:
        await memory.forget(entry.id, scope=scope)
    deleted: DeletedMemories = {"deleted": len(own)}
    return json_response(deleted)


@routes.get("/api/memory/export")
async def export_memory(request: web.Request) -> web.Response:
    """Return everything that is remembered of the user, oldest first: what an import takes."""
    authorized_host, memory = _authorize(request)
    return json_response(memory_export_to_json(await memory.export(authorized_host.user.id)))


@routes.post("/api/memory/import")
async def import_memory(request: web.Request) -> web.Response:
    """Store the entries of an export as the user's own; nothing if one is invalid. Raises InputError."""
    authorized_host, memory = _authorize(request)
    body = await parse_body(request, MemoryImport)
    imported: ImportedMemories = {"imported": await memory.import_entries(authorized_host.user.id, body.items)}
    return json_response(imported)


async def _search_files(request: web.Request, query: str, owner: str) -> Sequence[FileChunk]:
    services = get_host(request).services
    folder = find_memory_folder(services.settings, services.folder)
    return () if folder is None else await services.workspace(folder).search(query, owner=owner, limit=MAX_FILES)


def _authorize(request: web.Request) -> tuple[AuthorizedHost, LongTermMemory]:
    authorized_host = get_authorized_host(request)
    authorized_host.rights.require("Memory")
    return authorized_host, get_host(request).services.memory


async def _find(request: web.Request, authorized_host: AuthorizedHost) -> MemoryEntry:
    """Return the entry of the path. Raises NotFound, also for that of another user."""
    entry_id, user = request.match_info["entry_id"], authorized_host.user
    entry = (await get_host(request).services.store.memories.find([entry_id])).get(entry_id)
    if entry is None or not (user.operator or entry.scope == user.id):
        raise NotFound("memory entry", entry_id)
    return entry


def _to_json(entry: MemoryEntry, authorized_host: AuthorizedHost) -> MemoryView:
    to_client_id = authorized_host.sessions.to_client_id  # the origin ends with the id of a session
    shown = replace(entry, origin=to_client_id(entry.origin), session_id=to_client_id(entry.session_id))
    return memory_to_json(shown)
