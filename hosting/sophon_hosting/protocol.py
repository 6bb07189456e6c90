"""The tables of docs/protocol.md, made from the classes of the events, so that the page cannot say anything else."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from sophon.events import Event
from sophon.messages import Usage
from sophon_hosting.failures import STATUS
from sophon_hosting.hub.requests import REQUESTS, Request

COMMON = ("session_id", "task_id", "run_id", "seq")
"""What every event carries, said once above the table."""

SECTIONS = ("## What a client sends", "## What the host sends", "## Error codes")

_PLAIN: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "`true` or `false`",
    Usage: "usage",
    NoneType: "`null`",
    Any: "anything",
}


def protocol_tables() -> str:
    """Markdown: what a client sends, what the host sends, and the codes."""
    client = ["| event | payload | |", "|---|---|---|", *(_asked(name, model) for name, model in REQUESTS.items())]
    host = ["| event | kept | payload | |", "|---|---|---|---|", *(_told(event) for event in events())]
    codes = ["| code | over HTTP |", "|---|---|", *(f"| `{code}` | {status} |" for code, status in STATUS.items())]
    parts = zip(SECTIONS, (client, host, [*codes, "| anything else | 400 |"]), strict=True)
    return "\n\n".join(f"{title}\n\n" + "\n".join(table) for title, table in parts) + "\n"


def events() -> Sequence[type[Event]]:
    """Every event that a host sends, in the order of sophon/events.py."""
    return [each for each in Event.__subclasses__() if each.__module__ == Event.__module__]


def _asked(name: str, model: type[Request]) -> str:
    payload = [
        _field(field, info.annotation, None if info.is_required() else info.default)
        for field, info in model.model_fields.items()
    ]
    return _row(f"`{name}`", "; ".join(payload) or "`{}`", _doc(model))


def _told(event: type[Event]) -> str:
    hints = get_type_hints(event)
    payload = [_field(each.name, hints[each.name], None) for each in fields(event) if each.name not in COMMON]
    return _row(f"`{event.wire_name}`", "yes" if event.durable else "", "; ".join(payload), _doc(event))


def _field(name: str, hint: Any, default: object) -> str:
    said = f", by default `{str(default).lower()}`" if isinstance(default, bool) else ""
    return f"`{name}` {_type(hint)}{said}"


def _type(hint: Any) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f"`{each}`" for each in inner)
    if origin in (Union, UnionType):
        return " or ".join(_type(each) for each in inner)
    if origin is not None and issubclass(origin, Mapping):
        return "object"
    return "list" if origin is not None else "text"


def _doc(owner: type) -> str:
    return " ".join((owner.__doc__ or "").split())


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
