"""Handlers of client events: one function per event, which returns the payload of its acknowledgement."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

from sophon.errors import SophonError
from sophon.stores.sessions.contract import SessionPage
from sophon_hosting.events.json_encoding import take_items
from sophon_hosting.features.registry import REGISTRY
from sophon_hosting.features.sessions.history_results import JoinedSession, LeftSession, event_to_json
from sophon_hosting.features.sessions.results import SessionSlice, session_to_json
from sophon_hosting.hub.client_event_payloads import (
    PAYLOAD_MODELS,
    JoinSessionPayload,
    LeaveSessionPayload,
    ListSessionsPayload,
    parse_object,
    parse_payload,
)
from sophon_hosting.hub.connected_clients import HubClient
from sophon_hosting.operations.results import MAX_LIST_BYTES
from sophon_hosting.operations.subjects import SESSION

AckPayload: TypeAlias = Mapping[str, Any]
"""Payload of a successful acknowledgement, without `ok`."""

MAX_EVENT_NAME_CHARACTERS = 100
"""Characters of an unknown event's or namespace's name that an error message repeats."""

LARGE_ANSWER_EVENTS = frozenset(
    {"join_session", "list_sessions"}
    | {name for name, operation in REGISTRY.by_event.items() if operation.options.is_large}
)
"""Requests with answers that may be large: they are served one after the other, at the speed at which clients read."""


class UnknownEvent(SophonError):
    """The client sent an event name that has no handler."""

    code = "unknown_event"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name = name[:MAX_EVENT_NAME_CHARACTERS]
        near = get_close_matches(self.name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known events: {', '.join(known)}"
        super().__init__(f"unknown event {self.name!r}{hint}")


async def handle_event(client: HubClient, name: str, arguments: Sequence[object]) -> AckPayload:
    """Run the handler of an event and return its result. Raises UnknownEvent, InputError, and the handler's errors."""
    if (operation := REGISTRY.by_event.get(name)) is not None:
        caller = client.authorized_host
        operation.check(caller)
        return cast(AckPayload, await operation.call(caller, operation.request.validate(parse_object(arguments))))
    handler = _HANDLERS.get(name)
    if handler is None:
        raise UnknownEvent(name, [*REGISTRY.by_event, *PAYLOAD_MODELS])
    return await handler(client, parse_payload(PAYLOAD_MODELS[name], arguments))


async def _join_session(client: HubClient, request: JoinSessionPayload) -> JoinedSession:
    caller = await SESSION.on_its_host(client.authorized_host, request.session_id)
    await caller.check_not_lost(request.session_id)
    joined = await client.join(request.session_id, request.last_seq or 0, is_off_the_record=caller.is_off_the_record)
    events = [event_to_json(event) for event in joined.events]
    found: JoinedSession = {"session_id": request.session_id, "seq": joined.seq, "events": events}
    return {**found, "partial": True} if joined.is_partial else found


async def _leave_session(client: HubClient, request: LeaveSessionPayload) -> LeftSession:
    client.leave(request.session_id)
    return {"session_id": request.session_id}


async def _list_sessions(client: HubClient, request: ListSessionsPayload) -> SessionSlice:
    async def read(limit: int) -> SessionPage:
        return await client.authorized_host.list_sessions(
            all_users=client.is_operator, search=request.q, limit=limit, cursor=request.cursor
        )

    page = await read(request.limit)
    shown = take_items([session_to_json(session) for session in page.items], MAX_LIST_BYTES)
    if len(shown) < len(page.items):  # the cursor is that of the last session that fits
        page = await read(len(shown))
        shown = [session_to_json(session) for session in page.items]
    return {"items": shown, "more": True, "next_cursor": page.next_cursor} if page.next_cursor else {"items": shown}


_HANDLERS: Mapping[str, Callable[[HubClient, Any], Awaitable[AckPayload]]] = {
    "join_session": _join_session,
    "leave_session": _leave_session,
    "list_sessions": _list_sessions,
}
