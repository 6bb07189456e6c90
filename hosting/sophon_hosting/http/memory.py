"""`/api/memory`: search and delete entries of the long-term memory; users see their own, operators all."""

from typing import Annotated

from aiohttp import web
from pydantic import Field

from sophon.errors import NotFound
from sophon_hosting.http.exchange import Query, answer, desk_of, host_of, query_of
from sophon_hosting.views import memory_view


class Searched(Query):
    """Query of a memory search: words `q`; if empty, the newest entries. `everything` (all users') is for operators."""

    q: str = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    everything: bool = False


def memory_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/memory", found), web.delete("/api/memory/{entry_id}", forgotten)]


async def found(request: web.Request) -> web.Response:
    """Search entries, best match first."""
    query, authorized_host = query_of(request, Searched), desk_of(request)
    if query.everything:
        authorized_host.must_operate()
    scope = None if query.everything else authorized_host.user.id
    entries = await host_of(request).services.store.memory.search(query.q, scope=scope, limit=query.limit)
    return answer({"items": [memory_view(each) for each in entries]})


async def forgotten(request: web.Request) -> web.Response:
    """Delete one entry. Raises NotFound."""
    authorized_host, memory = desk_of(request), host_of(request).services.store.memory
    entry_id = request.match_info["entry_id"]
    allowed_ids = {
        entry.id for entry in await memory.all(scope=None if authorized_host.user.operator else authorized_host.user.id)
    }
    if entry_id not in allowed_ids:
        raise NotFound("memory entry", entry_id)
    await memory.forget(entry_id)
    return answer({"ok": True})
