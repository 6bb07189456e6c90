"""`/api/search`: search in the text of the user's messages."""

from dataclasses import replace
from typing import Annotated

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.history_redaction import redact_text_for_reader
from sophon_hosting.features.sessions.results import MessageHitPage, message_hit_to_json
from sophon_hosting.http.json_io import RequestQuery, get_reader, json_response, parse_query


class SearchQuery(RequestQuery):
    """Query of a search: every word of `q` begins a word of the message; `cursor` is the `next_cursor` of a page."""

    q: Annotated[str, ValueRules(max_length=20_000)] = ""
    limit: Annotated[int, ValueRules(ge=1, le=100)] = 20
    cursor: Annotated[str, ValueRules(max_length=1000)] | None = None


routes = web.RouteTableDef()


@routes.get("/api/search")
async def search_messages(request: web.Request) -> web.Response:
    """Return a page of the messages that match, newest first; `complete` is false while old ones are indexed.

    Conversations off the record are in another store. Without FullHistory nothing is found by what is redacted.
    """
    query, authorized_host = parse_query(request, SearchQuery), get_reader(request)
    to_shown = None if authorized_host.view is None else redact_text_for_reader
    hits = await authorized_host.store.message_search.search(
        authorized_host.user.id, query.q, limit=query.limit, cursor=query.cursor, to_shown=to_shown
    )
    items = [
        message_hit_to_json(
            replace(
                hit,
                session_id=authorized_host.sessions.to_client_id(hit.session_id),
                title=hit.title if to_shown is None else to_shown(hit.title),
            )
        )
        for hit in hits.items
    ]
    page: MessageHitPage = {"items": items, "next_cursor": hits.next_cursor, "complete": hits.is_complete}
    return json_response(page)
