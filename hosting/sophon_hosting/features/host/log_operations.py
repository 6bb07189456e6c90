"""Operations on the log: the newest lines of this process, and those that follow; for operators only."""

import logging
from typing import Annotated, Literal

from sophon._python.value_rules import ValueRules
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.host.feature import LOG_BUFFER
from sophon_hosting.features.host.log_buffer import LogBuffer, LogLine
from sophon_hosting.features.host.results import LogPage, log_line_to_json
from sophon_hosting.operations.request import Request, WaitSeconds
from sophon_hosting.operations.table import Table

table = Table("host")


class ListLogLines(Request):
    """Lines after a `number`, of a level or above, with a text."""

    after: Annotated[int, ValueRules(ge=0, le=2**53)] = 0
    level: Literal["Debug", "Info", "Warning", "Error"] = "Debug"
    text: Annotated[str, ValueRules(max_length=200)] = ""
    limit: Annotated[int, ValueRules(ge=1, le=500)] = 200
    wait: WaitSeconds = 0


@table.operation("GET /api/logs", needs="Operator")
async def list_log_lines(caller: Caller, request: ListLogLines) -> LogPage:
    """Return the newest log lines of this process, redacted, the oldest first.

    `last` is the number after which to ask next. With `wait`, the answer comes as soon as there is a line.
    """
    buffer = caller.host.feature_services.find(LOG_BUFFER)
    if buffer is None:
        return {"items": [], "last": 0}
    deadline = caller.monotonic() + request.wait
    while True:
        with buffer.watch() as changed:
            last, lines = buffer.last_number, _find(buffer, request)
            if lines or not await caller.wait_for_change(changed, deadline):
                return {"items": [log_line_to_json(each) for each in lines], "last": last}


def _find(buffer: LogBuffer, request: ListLogLines) -> list[LogLine]:
    level = logging.getLevelNamesMapping()[request.level.upper()]
    return buffer.list_after(request.after, min_level=level, text=request.text, limit=request.limit)
