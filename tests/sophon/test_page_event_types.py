"""The page's types of events (hosting/web/src/wire/protocol.ts) name every event of the wire, and its fields."""

import dataclasses
import re
from pathlib import Path

import pytest

from sophon import events
from sophon.events import Event

PROTOCOL = Path(__file__).parents[2] / "hosting/web/src/wire/protocol.ts"
ON_EVERY_EVENT = {"session_id", "task_id", "run_id", "seq"}
BUILT_IN = [each for each in events.event_types().values() if each.__module__.startswith("sophon.events.")]


def interface(source: str, name: str) -> str:
    """The body of an interface, without comments."""
    found = re.search(rf"^(?:export )?interface {name}\b[^{{]*{{\n(.*?)^}}", source, re.S | re.M)
    assert found is not None, name
    return re.sub(r"/\*\*.*?\*/", "", found[1], flags=re.S)


def find_untyped(source: str, kinds: list[type[Event]]) -> dict[str, set[str]]:
    """Fields that have no type, by event; of an unknown event all."""
    payloads = interface(source, "Payloads")
    bodies = dict(re.findall(r"^  (\w+): (.*?;)\n(?=  \w|\n|\Z|\s*^  \w)", payloads, re.S | re.M))
    missing: dict[str, set[str]] = {}
    for kind in kinds:
        body = bodies.get(kind.wire_name, "")
        for name in re.findall(r"\b(TaskOutcome|GuardVerdict)\b", body):
            body += interface(source, name) + (interface(source, "Escalation") if name == "GuardVerdict" else "")
        fields = {each.name for each in dataclasses.fields(kind)} - ON_EVERY_EVENT
        if left := {each for each in fields if not re.search(rf"\b{each}\??:", body)}:
            missing[kind.wire_name] = left
        elif not body:
            missing[kind.wire_name] = set()
    return missing


def test_the_page_has_a_type_of_every_event_and_of_its_fields() -> None:
    assert find_untyped(PROTOCOL.read_text(), BUILT_IN) == {}


@pytest.mark.parametrize(
    ("line", "event", "field"),
    [("    span_id?: string;\n", "model_attempt", "span_id"), ("  skill_loaded: {", "skill_loaded", "name")],
)
def test_a_field_or_an_event_without_a_type_is_found(line: str, event: str, field: str) -> None:
    source = PROTOCOL.read_text()
    assert line in source
    changed = source.replace(line, "  other: {" if line.endswith("{") else "")
    assert field in find_untyped(changed, BUILT_IN)[event]
