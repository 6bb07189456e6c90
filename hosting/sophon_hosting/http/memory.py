"""`/api/memory`: what is remembered beyond a session. It is one memory for all users, so it is an operator's."""

from typing import Annotated

from aiohttp import web
from pydantic import Field

from sophon_hosting.http.exchange import Query, answer, desk_of, host_of, query_of
from sophon_hosting.views import memory_view


class Searched(Query):
    """Words to look for; without any, the newest."""

    q: str = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


def routes() -> list[web.RouteDef]:
    """All of them."""
    return [web.get("/api/memory", found), web.delete("/api/memory/{entry_id}", forgotten)]


async def found(request: web.Request) -> web.Response:
    """The best first."""
    desk_of(request).must_operate()
    query = query_of(request, Searched)
    entries = await host_of(request).services.store.memory.search(query.q, limit=query.limit)
    return answer({"items": [memory_view(each) for each in entries]})


async def forgotten(request: web.Request) -> web.Response:
    """Forget one entry."""
    desk_of(request).must_operate()
    await host_of(request).services.store.memory.forget(request.match_info["entry_id"])
    return answer({"ok": True})
