"""`/api/memory`: search and delete entries of the long-term memory; users see their own, operators all."""

from dataclasses import replace
from typing import Annotated

from aiohttp import web

from sophon.errors import NotFound
from sophon.value_rules import ValueRules
from sophon_hosting.client_api.serialization import memory_to_json
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, get_host, json_response, parse_query


class MemorySearchQuery(RequestQuery):
    """Query of a memory search: words `q`; if empty, the newest entries. `everything` (all users') is for operators."""

    q: str = ""
    limit: Annotated[int, ValueRules(ge=1, le=1000)] = 100
    everything: bool = False


def memory_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/memory", search_memory), web.delete("/api/memory/{entry_id}", delete_memory_entry)]


async def search_memory(request: web.Request) -> web.Response:
    """Search entries, best match first."""
    query, authorized_host = parse_query(request, MemorySearchQuery), get_authorized_host(request)
    authorized_host.rights.require("Memory")
    if query.everything:
        authorized_host.require_operator()
    scope = None if query.everything else authorized_host.user.id
    entries = await get_host(request).services.store.memories.search(query.q, scope=scope, limit=query.limit)
    to_client_id = authorized_host.sessions.to_client_id  # the origin ends with the id of a session
    return json_response(
        {"items": [memory_to_json(replace(each, origin=to_client_id(each.origin))) for each in entries]}
    )


async def delete_memory_entry(request: web.Request) -> web.Response:
    """Delete one entry. Raises NotFound."""
    authorized_host, memory = get_authorized_host(request), get_host(request).services.store.memories
    authorized_host.rights.require("Memory")
    entry_id = request.match_info["entry_id"]
    allowed_ids = {
        entry.id
        for entry in await memory.list_all(scope=None if authorized_host.user.operator else authorized_host.user.id)
    }
    if entry_id not in allowed_ids:
        raise NotFound("memory entry", entry_id)
    await memory.delete(entry_id)
    return json_response({"ok": True})
