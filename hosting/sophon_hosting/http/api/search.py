"""`/api/search`: search in the text of the user's messages."""

from typing import Annotated

from aiohttp import web

from sophon.value_rules import ValueRules
from sophon_hosting.client_api.serialization import message_hit_to_json
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, json_response, parse_query


class SearchQuery(RequestQuery):
    """Query of a search: every word of `q` begins a word of the message; `cursor` is the `next_cursor` of a page."""

    q: Annotated[str, ValueRules(max_length=20_000)] = ""
    limit: Annotated[int, ValueRules(ge=1, le=100)] = 20
    cursor: Annotated[str, ValueRules(max_length=1000)] | None = None


def search_routes() -> list[web.RouteDef]:
    """Return the routes of this module."""
    return [web.get("/api/search", search_messages)]


async def search_messages(request: web.Request) -> web.Response:
    """Return a page of the messages that match, newest first; `complete` is false while old ones are indexed."""
    query = parse_query(request, SearchQuery)
    hits = await get_authorized_host(request).search.find_messages(query.q, limit=query.limit, cursor=query.cursor)
    items = [message_hit_to_json(each) for each in hits.items]
    return json_response({"items": items, "next_cursor": hits.next_cursor, "complete": hits.is_complete})
