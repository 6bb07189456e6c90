"""Tool calls of the plan steps and sub-agents of a turn, read from the events of its session.

They are no messages of the conversation. A host stores the events of tool calls with arguments and results; the oldest
are dropped (docs/promises.md), and a chat without a host stores none.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from sophon.events import ToolCallCompleted, ToolCallStarted
from sophon.messages import ToolCall
from sophon.stores.contract import Store
from sophon.stores.events.contract import LoggedEvent
from sophon.tools.untrusted_text import ExternalText
from sophon_hosting.events.large_fields import referenced_text_id

EVENTS_PER_READ: Final = 1000
WITH_RESULT: Final = frozenset({"completed", "failed", "timed_out"})


async def load_nested_calls(store: Store, session_id: str, run_id: str) -> Sequence[tuple[ToolCall, str]]:
    """Return the calls within plan steps and sub-agents with their results, in the order in which they ended.

    The events do not say which results were untrusted, so all of them are fenced again.
    """
    started: dict[tuple[str, str], Mapping[str, Any]] = {}
    found: list[tuple[ToolCall, str]] = []
    async for event in _nested_events(store, session_id, run_id):
        data, key = event.data, (str(event.data["run_id"]), str(event.data["call_id"]))
        if event.name == ToolCallStarted.wire_name:
            whole = await _load_text(store, session_id, data, "arguments")
            started[key] = data["arguments"] if whole is None else json.loads(whole)
        elif key in started and data["outcome"] in WITH_RESULT:
            whole = await _load_text(store, session_id, data, "result")
            result = str(data["result"]) if whole is None else whole
            found.append((ToolCall(key[1], str(data["tool"]), started.pop(key)), ExternalText(result)))
    return found


async def _nested_events(store: Store, session_id: str, run_id: str) -> AsyncIterator[LoggedEvent]:
    names, after = (ToolCallStarted.wire_name, ToolCallCompleted.wire_name), 0
    while events := await store.events.list_after(session_id, after, EVENTS_PER_READ):
        after = events[-1].seq
        for each in events:
            # A step runs as `RUN/STEP`, an agent of it below that.
            if each.name in names and str(each.data.get("run_id", "")).startswith(f"{run_id}/"):
                yield each


async def _load_text(store: Store, session_id: str, data: Mapping[str, Any], name: str) -> str | None:
    """Return the whole of a field that was cut; None for one that is whole, or whose text is gone."""
    text_id = referenced_text_id(data, name)
    return await store.texts.get(session_id, text_id) if text_id else None
