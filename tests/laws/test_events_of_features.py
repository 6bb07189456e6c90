"""The events of a feature stand in its folder, and its declaration names them: they are known with the features."""

import ast
from pathlib import Path

import pytest

import sophon.events
import sophon_hosting.features
from sophon.events import Event
from sophon_hosting.features import FEATURES
from sophon_hosting.features.registry import load_builtin_features, load_event_types
from tests.event_declarations import check_event_declaration
from tests.packaging.test_imports import modules_loaded_by
from tests.tables import table

FOLDER = Path(sophon_hosting.features.__file__).parent
EVENTS = load_event_types(load_builtin_features())

OPENED = """
from sophon_hosting.store.sql_host_store import SqlHostStore
SqlHostStore("memory://")
"""


@table("name", FEATURES)
def test_a_feature_names_exactly_the_events_of_its_folder(name: str) -> None:
    [feature] = [each for each in load_builtin_features() if each.name == name]
    declared = {
        f"sophon_hosting.features.{'.'.join(path.relative_to(FOLDER).with_suffix('').parts)}:{event}"
        for path in (FOLDER / name).rglob("*.py")
        for event in list_events(path)
    }
    assert sorted(feature.events) == sorted(declared)


def list_events(path: Path) -> list[str]:
    """The names of the classes of a file that are events."""
    classes = [each for each in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(each, ast.ClassDef)]
    return [each.name for each in classes if "Event" in {ast.unparse(base).rpartition(".")[2] for base in each.bases}]


@table("kind", EVENTS)
def test_an_event_of_a_feature_says_of_itself_all_that_others_must_know(kind: type[Event]) -> None:
    check_event_declaration(kind)


def test_whoever_opens_the_store_of_a_host_knows_its_events() -> None:
    assert {each.__module__ for each in EVENTS} <= modules_loaded_by(OPENED)


@table("kind", EVENTS)
def test_an_event_of_a_feature_can_be_imported_with_all_others(kind: type[Event]) -> None:
    assert getattr(sophon.events, kind.__name__) is kind


def test_a_name_that_no_event_has_is_none() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'GoalChange'"):
        getattr(sophon.events, "GoalChange")  # noqa: B009 - a type checker knows that it is missing
