"""What features keep of a person is in the export, and comes back from it, also that of an installed feature."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from sophon.errors import InputError
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.stores.sql.store_part import StorePart
from sophon.testing import VirtualClock
from sophon_hosting.features import registry
from sophon_hosting.features.feature import Feature
from sophon_hosting.features.person_export_items import PersonData
from sophon_hosting.features.persons.export import PersonExport
from sophon_hosting.features.persons.person_files import PersonFolders
from sophon_hosting.features.persons.person_import import import_person
from sophon_hosting.features.registry import load_builtin_features, load_object
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.sql_host_store import SqlHostStore

KEPT: dict[str, list[str]] = {}
"""What a feature of these tests keeps, by person."""


async def read(store: HostStore, person: str) -> list[dict[str, str]]:
    return [{"name": name} for name in KEPT.get(person, [])]


def parse(value: Mapping[str, str], person: str) -> str:
    if not value["name"]:
        raise ValueError("a badge needs a name")
    return value["name"]


async def add(store: HostStore, value: str, person: str) -> bool:
    is_new = value not in KEPT.setdefault(person, [])
    if is_new:
        KEPT[person].append(value)
    return is_new


BADGES = PersonData("badge", read, parse, add)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KEPT, "ada", ["early bird"])
    monkeypatch.delitem(KEPT, "bob", raising=False)
    monkeypatch.setattr(registry, "load_features", lambda: [Feature("badges", person_data=[f"{__name__}:BADGES"])])


async def test_the_data_of_an_installed_feature_is_exported_and_comes_back_once(
    installed: None, tmp_path: Path
) -> None:
    clock, store = VirtualClock(), SqlHostStore("memory://")
    await store.open()
    folders, memory = PersonFolders(tmp_path, tmp_path, tmp_path), LongTermMemory(store, clock)
    exported = [each async for each in PersonExport(store, clock, folders).read("ada")]
    assert {"kind": "badge", "badge": {"name": "early bird"}} in exported

    assert (await import_person(store, memory, "bob", exported)).added == {"badge": 1}
    assert (await import_person(store, memory, "bob", exported)).added == {"badge": 0}
    assert KEPT["bob"] == ["early bird"]
    with pytest.raises(InputError, match="item 1 cannot be imported, and nothing was: a badge needs a name"):
        await import_person(store, memory, "bob", [{"kind": "badge", "badge": {"name": ""}}])
    await store.close()


def test_a_feature_that_forgets_a_person_exports_them_too() -> None:
    for feature in load_builtin_features():
        parts = [load_object(feature, path) for path in feature.tables]
        forgets = any(each.forget_person.__func__ is not StorePart.forget_person.__func__ for each in parts)
        assert bool(feature.person_data) == forgets, feature.name
        assert all(isinstance(load_object(feature, path), PersonData) for path in feature.person_data)
