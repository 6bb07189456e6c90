"""The class of an event is its only declaration, and what it declares is consistent."""

from collections.abc import Mapping
from typing import Any

import pytest

from sophon._python.lazy_dataclass import dataclass
from sophon.events import Event, event_from_wire, event_type, event_types
from sophon.events.field_visibility_rules import field_rules
from sophon.events.visibility import Plain, Text, Visibility
from tests.event_declarations import check_event_declaration
from tests.tables import table

EVENTS = [each for each in event_types().values() if each.__module__.startswith("sophon.events.")]


@dataclass(slots=True, kw_only=True)
class WeatherChanged(Event):
    """The weather at a place has changed."""

    audience = "operators"
    is_live = True
    durable = False

    place: Plain
    forecast: Text
    degrees: float
    source: str = ""


@table("kind", EVENTS)
def test_an_event_says_of_itself_all_that_others_must_know(kind: type[Event]) -> None:
    check_event_declaration(kind)


def test_a_task_has_three_outcomes_and_ends_with_one_of_them() -> None:
    final = {each.wire_name for each in EVENTS if each.is_final}
    assert final == {"task_completed", "task_failed", "task_cancelled"}


def test_an_event_of_ones_own_is_known_by_its_class_alone() -> None:
    kind = event_type("weather_changed")

    assert (kind, kind.audience, kind.durable) == (WeatherChanged, "operators", False)
    rules: Mapping[str, Any] = field_rules(kind)
    assert [rules[each] for each in ("place", "forecast", "degrees", "source", "session_id")] == [
        *(Visibility.PLAIN, Visibility.TEXT, Visibility.PLAIN, Visibility.CONTENT, Visibility.PLAIN)
    ]
    event = WeatherChanged(place="Bergen", forecast="rain", degrees=9.5)
    assert event_from_wire("weather_changed", event.to_wire()) == event


def test_an_unknown_event_has_the_defaults_and_all_its_fields_are_content() -> None:
    assert event_type("unheard_of") is Event
    assert "tool" not in field_rules(Event)


def test_a_name_that_two_classes_declare_is_an_error() -> None:
    with pytest.raises(TypeError, match="'weather_changed' is declared twice"):
        type("OtherWeather", (Event,), {"wire_name": "weather_changed"})
