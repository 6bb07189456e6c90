"""`/api/logs`: the newest log lines of this process, and those that follow; for operators only."""

import logging
from typing import Annotated, Literal

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon_hosting.features.host.results import LogPage, log_line_to_json
from sophon_hosting.http.json_io import RequestQuery, get_authorized_host, get_host, json_response, parse_query
from sophon_hosting.http.long_poll import WaitSeconds, wait_for_change
from sophon_hosting.observability.log_buffer import LogBuffer, LogLine


class LogQuery(RequestQuery):
    """Query of the lines: those after a number, of a level or above, with a text."""

    after: Annotated[int, ValueRules(ge=0, le=2**53)] = 0
    level: Literal["Debug", "Info", "Warning", "Error"] = "Debug"
    text: Annotated[str, ValueRules(max_length=200)] = ""
    limit: Annotated[int, ValueRules(ge=1, le=500)] = 200
    wait: WaitSeconds = 0


routes = web.RouteTableDef()


@routes.get("/api/logs")
async def list_lines(request: web.Request) -> web.Response:
    """Return lines, the oldest first, and `last`, the number after which to ask next. Without any, wait for one."""
    authorized_host = get_authorized_host(request)
    authorized_host.require_operator()
    query = parse_query(request, LogQuery)
    buffer = get_host(request).log_buffer
    if buffer is None:
        nothing: LogPage = {"items": [], "last": 0}
        return json_response(nothing)
    clock = get_host(request).services.clock
    deadline = clock.monotonic() + query.wait
    while True:
        with buffer.watch() as changed:
            last, lines = buffer.last_number, _find(buffer, query)
            if lines or not await wait_for_change(request, changed, deadline):
                page: LogPage = {"items": [log_line_to_json(each) for each in lines], "last": last}
                return json_response(page)


def _find(buffer: LogBuffer, query: LogQuery) -> list[LogLine]:
    level = logging.getLevelNamesMapping()[query.level.upper()]
    return buffer.list_after(query.after, min_level=level, text=query.text, limit=query.limit)
