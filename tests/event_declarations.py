"""What the declaration of every event must be, of the framework and of features."""

from dataclasses import fields
from typing import get_args

from sophon.events import Event, event_type
from sophon.events.base import Audience
from sophon.events.field_visibility_rules import field_rules
from sophon.events.visibility import Visibility


def check_event_declaration(kind: type[Event]) -> None:
    """Fail if what a class declares contradicts itself, or if an id or a time holds content."""
    names = {each.name for each in fields(kind)}
    content = {name for name, rule in field_rules(kind).items() if rule is not Visibility.PLAIN}

    assert event_type(kind.wire_name) is kind
    assert (kind.__doc__ or "").split("(")[0].strip(), "its line in docs/protocol.md"
    assert kind.audience in get_args(Audience)
    assert {*(kind.unique_by or ()), *kind.omitted_if_empty} <= names
    assert field_rules(kind).keys() == names
    assert not (kind.durable and (kind.is_trace or kind.is_live or kind.is_process_local))
    assert kind.durable or not (kind.is_first or kind.is_final or kind.is_approval or kind.unique_by)
    assert kind.in_trace or not kind.is_trace
    assert not {name for name in content if name.endswith(("_id", "_at", "_ms"))}
