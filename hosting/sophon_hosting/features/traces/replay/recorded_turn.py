"""Recorded turn: the message, the history before it, and the results of the tool calls, read from the store."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError, NotFound
from sophon.events import ToolCallCompleted, ToolCallStarted
from sophon.messages import Message, ToolCall
from sophon.stores.sessions.contract import SessionRecord
from sophon.tools.untrusted_text import ExternalText
from sophon.traces.trace import Trace
from sophon_hosting.events.large_fields import referenced_text_id
from sophon_hosting.runs.data_owner_and_chat_overrides import RunAudience, audience_of_run
from sophon_hosting.runs.run_kinds import is_direct_call
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run

EVENTS_PER_READ: Final = 1000

WITH_RESULT: Final = frozenset({"completed", "failed", "timed_out"})


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A turn as it was: `history` are the records of the session before its message, `calls` its tool calls with the
    texts that the model read, those of plan steps and sub-agents last. `options` are those that the message was sent
    with; `trace` is None if there is none.
    """

    run_id: str
    session_id: str
    owner: str
    channel: str
    audience: RunAudience
    message: Message
    history: Sequence[SessionRecord]
    calls: Sequence[tuple[ToolCall, str]]
    answer: str
    session_model: str | None
    options: Mapping[str, Any]
    trace: Trace | None


async def find_turn_owner(store: HostStore, run_id: str) -> tuple[str, str] | None:
    """Return who a turn belongs to, and its session; None if neither a run nor a trace of it is stored."""
    run = await store.runs.find(run_id)
    if run is not None:
        return run.owner, run.session_id
    trace = await store.traces.find(run_id)
    return None if trace is None else (trace.principal, trace.session_id)


async def load_recorded_turn(store: HostStore, run_id: str) -> RecordedTurn:
    """Return a turn that has ended. Raises NotFound, and InputError for one that cannot be replayed."""
    run, trace = await store.runs.find(run_id), await store.traces.find(run_id)
    if run is None and trace is None:
        raise NotFound("turn", run_id)
    if run is not None and not run.is_finished:
        raise InputError("the turn has not ended; replay it when it has")
    if run is not None and is_direct_call(run):
        raise InputError("this was a tool call without a model; there is nothing to replay")
    session_id = run.session_id if run is not None else trace.session_id if trace is not None else ""
    session = await store.sessions.find(session_id)
    records = [] if session is None else await store.sessions.list_records(session_id)
    at = next((index for index, each in enumerate(records) if _is_message_of(each, run_id)), None)
    message = None if at is None else records[at].message
    if session is None or at is None or message is None:
        raise InputError("the message of this turn is no longer stored, so it cannot be replayed")
    own = [each.message for each in records[at:] if each.run_id == run_id and each.message is not None]
    owner, channel = (run.owner, run.channel) if run is not None else _owner_of_trace(trace)
    return RecordedTurn(
        run_id=run_id,
        session_id=session_id,
        owner=owner,
        channel=channel,
        audience=audience_of_run(run) if run is not None else RunAudience(owner),
        message=message,
        history=[replace(each, seq=0) for each in records[:at]],
        calls=[*_match_results(own), *await load_nested_calls(store, session_id, run_id)],
        answer=_find_answer(run, own),
        session_model=session.model,
        options=run.options if run is not None else {},
        trace=trace,
    )


def _is_message_of(record: SessionRecord, run_id: str) -> bool:
    message = record.message
    return record.run_id == run_id and record.kind == "message" and message is not None and message.role == "user"


def _owner_of_trace(trace: Trace | None) -> tuple[str, str]:
    return ("", "local") if trace is None else (trace.principal, trace.channel)


def _match_results(messages: Sequence[Message]) -> Sequence[tuple[ToolCall, str]]:
    results = {each.tool_call_id: each.content for each in messages if each.role == "tool"}
    calls = [call for each in messages for call in each.tool_calls]
    return [(call, results[call.id]) for call in calls if call.id in results]


def _find_answer(run: Run | None, messages: Sequence[Message]) -> str:
    if run is not None and run.response is not None:
        return str(run.response.get("text", ""))
    replies = [each.content for each in messages if each.role == "assistant" and not each.tool_calls]
    return replies[-1] if replies else ""


async def load_nested_calls(store: HostStore, session_id: str, run_id: str) -> Sequence[tuple[ToolCall, str]]:
    """Return the calls within plan steps and sub-agents with their results, in the order in which they ended.

    The events do not say which results were untrusted, so all of them are fenced again.

    They are no messages of the conversation. A host stores the events of tool calls with arguments and results; the
    oldest are dropped (docs/promises.md), and a chat without a host stores none.
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


async def _nested_events(store: HostStore, session_id: str, run_id: str) -> AsyncIterator[LoggedEvent]:
    names, after = (ToolCallStarted.wire_name, ToolCallCompleted.wire_name), 0
    while events := await store.events.list_after(session_id, after, EVENTS_PER_READ):
        after = events[-1].seq
        for each in events:
            # A step runs as `RUN/STEP`, an agent of it below that.
            if each.name in names and str(each.data.get("run_id", "")).startswith(f"{run_id}/"):
                yield each


async def _load_text(store: HostStore, session_id: str, data: Mapping[str, Any], name: str) -> str | None:
    """Return the whole of a field that was cut; None for one that is whole, or whose text is gone."""
    text_id = referenced_text_id(data, name)
    return await store.texts.get(session_id, text_id) if text_id else None
