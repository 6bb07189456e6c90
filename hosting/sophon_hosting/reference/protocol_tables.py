"""Tables of docs/protocol.md: the events of clients and of the host, and the error codes."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from sophon.events import Event, event_types
from sophon.events.field_visibility_rules import FieldRule, field_rules
from sophon.events.visibility import Visibility
from sophon_hosting.client_api.client_errors import HTTP_STATUS_BY_CODE
from sophon_hosting.features.registry import builtin_operations, load_builtin_features, load_event_types
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import NoFields, request_shape
from sophon_hosting.reference.markdown_tables import describe_type, docstring, render_table

if TYPE_CHECKING:
    from pydantic import BaseModel

COMMON_FIELDS: Final = ("session_id", "task_id", "run_id", "seq")
"""Fields of every event; docs/protocol.md describes them once above the table."""

FIRST_AREAS: Final = ("turn", "streaming", "models", "routing", "tools", "approvals", "plans", "agents", "memory")
"""Modules of events in the order of the table; others follow."""

EVENT_PACKAGE: Final = "sophon.events."


def client_events_table() -> str:
    """Return the table of the events that a client sends."""
    rows = [
        (f"`{name}`", _describe_request(request_shape(each.request).model), _describe_operation(each))
        for name, each in builtin_operations().by_event.items()
    ]
    return render_table(("event", "payload", ""), rows)


def host_events_table() -> str:
    """Return the table of the events that the host sends; fields that hold content are in italics."""
    rows = (
        (
            f"`{kind.wire_name}`",
            "yes" if kind.durable else "trace" if kind.is_trace else "",
            "" if kind.audience == "session" else kind.audience,
            _payload(kind),
            docstring(kind),
        )
        for kind in list_event_types()
    )
    return render_table(("event", "kept", "sent to", "payload", ""), rows)


def error_codes_table() -> str:
    """Return the table of the error codes and their HTTP statuses."""
    rows = [(f"`{code}`", str(status)) for code, status in HTTP_STATUS_BY_CODE.items()]
    return render_table(("code", "over HTTP"), [*rows, ("anything else", "400")])


def list_event_types() -> Sequence[type[Event]]:
    """Return the event classes of the framework, by area, in the order of their declaration, then those of features."""
    own = [each for each in event_types().values() if each.__module__.startswith(EVENT_PACKAGE)]
    areas = {f"{EVENT_PACKAGE}{area}": place for place, area in enumerate(FIRST_AREAS)}
    ordered = sorted(own, key=lambda each: areas.get(each.__module__, len(areas)))
    return [*ordered, *load_event_types(load_builtin_features())]


def _describe_request(model: "type[BaseModel]") -> str:
    fields = (
        f"`{field}` {describe_type(info.annotation)}{_default(None if info.is_required() else info.default)}"
        for field, info in model.model_fields.items()
    )
    return "; ".join(fields) or "`{}`"


def _describe_operation(operation: Operation[Any, Any]) -> str:
    about = "" if operation.request is NoFields else docstring(operation.request)
    return f"{operation.summary} {about}".rstrip()


def _payload(kind: type[Event]) -> str:
    hints, rules = get_type_hints(kind, include_extras=True), field_rules(kind)
    names = [each.name for each in fields(kind) if each.name not in COMMON_FIELDS]
    return "; ".join(f"{_field_name(name, rules[name])} {_describe(hints[name], rules[name])}" for name in names)


def _field_name(name: str, rule: FieldRule) -> str:
    return f"`{name}`" if rule is Visibility.PLAIN or isinstance(rule, Mapping) else f"*`{name}`*"


def _describe(hint: Any, rule: FieldRule) -> str:
    if not isinstance(rule, Mapping):
        return describe_type(hint)
    keys = ", ".join(f"{_field_name(key, each)}{_parts(each)}" for key, each in rule.items())
    return f"object of {keys}{' or `null`' if describe_type(hint).endswith('`null`') else ''}"


def _parts(rule: FieldRule) -> str:
    return f" ({', '.join(_field_name(key, each) for key, each in rule.items())})" if isinstance(rule, Mapping) else ""


def _default(default: object) -> str:
    return f", by default `{str(default).lower()}`" if isinstance(default, bool) else ""
