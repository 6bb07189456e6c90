"""`/api/memory`: what is remembered beyond a session: the user's own, or for an operator that of all."""

from typing import Annotated

from aiohttp import web
from pydantic import Field

from sophon.errors import NotFound
from sophon_hosting.http.exchange import Query, answer, desk_of, host_of, query_of
from sophon_hosting.views import memory_view


class Searched(Query):
    """Words to look for; without any, the newest. `everything` is for operators."""

    q: str = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    everything: bool = False


def routes() -> list[web.RouteDef]:
    """All of them."""
    return [web.get("/api/memory", found), web.delete("/api/memory/{entry_id}", forgotten)]


async def found(request: web.Request) -> web.Response:
    """The best first."""
    query, desk = query_of(request, Searched), desk_of(request)
    if query.everything:
        desk.must_operate()
    scope = None if query.everything else desk.user.id
    entries = await host_of(request).services.store.memory.search(query.q, scope=scope, limit=query.limit)
    return answer({"items": [memory_view(each) for each in entries]})


async def forgotten(request: web.Request) -> web.Response:
    """Forget one entry."""
    desk, memory = desk_of(request), host_of(request).services.store.memory
    entry_id = request.match_info["entry_id"]
    mine = {entry.id for entry in await memory.all(scope=None if desk.user.operator else desk.user.id)}
    if entry_id not in mine:
        raise NotFound("memory entry", entry_id)
    await memory.forget(entry_id)
    return answer({"ok": True})
