"""Generator of the tables in docs/protocol.md from the event classes, the client payload models and the error codes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sophon.events import (
    Event,
    agents,
    approvals,
    memory,
    models,
    plans,
    routing,
    schedules,
    sessions,
    streaming,
    tools,
    turn,
)
from sophon.messages import Usage
from sophon_hosting.client_api.client_errors import HTTP_STATUS_BY_CODE
from sophon_hosting.client_api.payload import build_model
from sophon_hosting.hub.client_event_payloads import PAYLOAD_MODELS, EventPayload

COMMON_FIELDS = ("session_id", "task_id", "run_id", "seq")
"""Fields of every event; docs/protocol.md describes them once above the table."""

SECTION_HEADINGS = ("## What a client sends", "## What the host sends", "## Error codes")

EVENT_AREAS = (turn, streaming, models, routing, tools, approvals, plans, agents, memory, schedules, sessions)
"""The modules of events, in the order of the table."""

_TYPE_NAMES: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true` or `false`",
    Usage: "usage",
    NoneType: "`null`",
    Any: "anything",
}


def render_protocol_tables() -> str:
    """Return the Markdown tables: client events, host events, error codes."""
    client = [
        "| event | payload | |",
        "|---|---|---|",
        *(_client_event_row(name, model) for name, model in PAYLOAD_MODELS.items()),
    ]
    host = [
        "| event | kept | payload | |",
        "|---|---|---|---|",
        *(_host_event_row(event) for event in list_event_types()),
    ]
    codes = [
        "| code | over HTTP |",
        "|---|---|",
        *(f"| `{code}` | {status} |" for code, status in HTTP_STATUS_BY_CODE.items()),
    ]
    parts = zip(SECTION_HEADINGS, (client, host, [*codes, "| anything else | 400 |"]), strict=True)
    return "\n\n".join(f"{title}\n\n" + "\n".join(table) for title, table in parts) + "\n"


def list_event_types() -> Sequence[type[Event]]:
    """Return all event classes that a host sends, by area, in the order of each module."""
    # Not `__subclasses__`: a dataclass with slots leaves behind the class that it was made from, until it is collected.
    return [
        item
        for area in EVENT_AREAS
        for item in vars(area).values()
        if isinstance(item, type) and issubclass(item, Event) and item is not Event
    ]


def _client_event_row(name: str, model: type[EventPayload]) -> str:
    payload = [
        _field(field, info.annotation, None if info.is_required() else info.default)
        for field, info in build_model(model).model_fields.items()
    ]
    return _row(f"`{name}`", "; ".join(payload) or "`{}`", _docstring(model))


def _host_event_row(event: type[Event]) -> str:
    hints = get_type_hints(event)
    payload = [_field(item.name, hints[item.name], None) for item in fields(event) if item.name not in COMMON_FIELDS]
    return _row(
        f"`{event.wire_name}`",
        "yes" if event.durable else "trace" if event.is_trace else "",
        "; ".join(payload),
        _docstring(event),
    )


def _field(name: str, hint: Any, default: object) -> str:
    default_text = f", by default `{str(default).lower()}`" if isinstance(default, bool) else ""
    return f"`{name}` {_type(hint)}{default_text}"


def _type(hint: Any) -> str:
    if hint in _TYPE_NAMES:
        return _TYPE_NAMES[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f"`{item}`" for item in inner)
    if origin in (Union, UnionType):
        return " or ".join(_type(item) for item in inner)
    if origin is not None and issubclass(origin, Mapping):
        return "object"
    return "list" if origin is not None else "text"


def _docstring(owner: type) -> str:
    return " ".join((owner.__doc__ or "").split())


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
