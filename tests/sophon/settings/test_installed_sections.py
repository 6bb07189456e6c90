"""Sections of settings of other distributions: they are validated, described and read like those of Sophon."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sophon import Services
from sophon.entry_points import find_entry_points, load_entry_point
from sophon.errors import SettingsError
from sophon.settings import (
    RootSection,
    Settings,
    load_settings,
    redact_settings,
    render_settings_table,
    settings_schema,
)
from sophon.settings.installed_sections import SETTINGS_GROUP
from sophon.settings.root import load_settings_type
from sophon_hosting.settings.hub import HubSettings
from tests.tables import table

CODE = '''
from sophon.settings import RootSection, Secret
from sophon.settings.types.field_types import WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class LampSettings(SettingsSection):
    """A lamp."""

    id: str = Field(min_length=1, description="Id of your choice.")
    key: Secret | None = Field(default=None, description="Its key.")


class LampsSettings(RootSection, key="HouseLamps", description="Lamps of the house."):
    """Lamps."""

    brightness: WholeNumber = Field(default=50, ge=1, le=100, description="Brightness in per cent.")
    lamps: tuple[LampSettings, ...] = Field(default=(), description="All lamps.")

    def find_root_conflicts(self, settings):
        if self.lamps and not settings.traces.enabled:
            yield "lamps need Traces.Enabled"


class OtherLamps(RootSection, key="HouseLamps", description="Lamps of another house."):
    """Lamps."""


class Tools(RootSection, key="Tools", description="Tools of the house."):
    """Tools."""


class Copies(RootSection, key="ModelCopy", description="A method of all settings."):
    """Copies."""
'''

Install = Callable[[str], type[RootSection]]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution with the given entry points where Python finds it; return the section called `lamps`."""

    def put(entry_points: str) -> type[RootSection]:
        (tmp_path / "sophon_lamps_of_a_test.py").write_text(CODE)
        info = tmp_path / "lamps_of_a_test-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lamps-of-a-test\nVersion: 1.0\n")
        entries = entry_points.replace("@", "sophon_lamps_of_a_test:")
        (info / "entry_points.txt").write_text(f"[{SETTINGS_GROUP}]\n{entries}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        load_settings_type.cache_clear()
        section = load_entry_point(find_entry_points(SETTINGS_GROUP)["lamps"])
        assert isinstance(section, type)
        assert issubclass(section, RootSection)
        return section

    yield put
    sys.modules.pop("sophon_lamps_of_a_test", None)
    load_settings_type.cache_clear()


def test_a_section_of_another_distribution_is_read_by_its_class(install: Install) -> None:
    section = install("lamps = @LampsSettings")

    settings = Settings.from_mapping({"HouseLamps": {"Brightness": 7}})

    assert settings.section(section).model_dump()["brightness"] == 7
    assert Settings.from_mapping({"house_lamps": {"brightness": 7}}) == settings
    assert settings != Settings()


@pytest.mark.parametrize("values", [{}, {"ToolFilter": {"Top": 3}}, {"Hub": {"Port": 1}}])
def test_a_section_that_is_not_given_has_its_defaults(install: Install, values: dict[str, dict[str, int]]) -> None:
    section = install("lamps = @LampsSettings")

    for settings in (Settings(), Settings.from_mapping(values), Services(settings=values).settings):
        assert settings.section(section) == section()


def test_a_section_is_set_by_file_variable_and_command_line(install: Install, tmp_path: Path) -> None:
    section = install("lamps = @LampsSettings")
    (tmp_path / "appsettings.json").write_text('{"Sophon": {"HouseLamps": {"Lamps": [{"Id": "desk"}]}}}')

    settings = load_settings(
        folder=tmp_path, environment={"SOPHON__HOUSELAMPS__BRIGHTNESS": "8"}, overrides=["HouseLamps.Brightness=9"]
    )

    assert settings.section(section).model_dump() == {"brightness": 9, "lamps": ({"id": "desk", "key": None},)}


def test_a_section_is_described_like_those_of_sophon(install: Install) -> None:
    section = install("lamps = @LampsSettings")

    described = settings_schema()["properties"]["Sophon"]["properties"]["HouseLamps"]

    assert described["description"] == "Lamps of the house."
    assert described["default"] == {"Brightness": 50, "Lamps": []}
    assert "| `HouseLamps.Brightness` | whole number from 1 to 100 | `50` | Brightness in per cent. |" in (
        render_settings_table()
    )
    assert redact_settings(Settings())["HouseLamps"] == section().model_dump(by_alias=True) | {"Lamps": []}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"HouseLamps": {"Brightnes": 7}}, "HouseLamps.Brightnes: unknown setting; did you mean Brightness?"),
        ({"HouseLamp": {}}, "HouseLamp: unknown setting; did you mean HouseLamps?"),
        ({"HouseLamps": {"Brightness": 0}}, "HouseLamps.Brightness: 0 is out of bounds: it must be at least 1"),
        (
            {"HouseLamps": {"Lamps": [{"Id": "desk"}, {"Id": "desk"}]}},
            "HouseLamps.Lamps[1].Id: 'desk' is already the Id of number 1 in the list",
        ),
        (
            {"HouseLamps": {"Lamps": [{"Id": "desk"}]}, "Traces": {"Enabled": False}},
            "HouseLamps: lamps need Traces.Enabled",
        ),
    ],
)
def test_a_mistake_in_a_section_is_named(install: Install, values: dict[str, object], problem: str) -> None:
    install("lamps = @LampsSettings")

    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping(values)

    assert caught.value.problems == [problem]


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        (
            "lamps = @LampsSettings\nother = @OtherLamps",
            "two sections of settings have the key 'HouseLamps': sophon_lamps_of_a_test.LampsSettings and "
            "sophon_lamps_of_a_test.OtherLamps",
        ),
        (
            "lamps = @LampsSettings\nother = @Tools",
            "sophon_lamps_of_a_test.Tools: a chain has settings 'Tools' already",
        ),
        (
            "lamps = @LampsSettings\nother = @Copies",
            "sophon_lamps_of_a_test.Copies: a chain has settings 'ModelCopy' already",
        ),
        (
            "lamps = @LampsSettings\nother = @LampSettings",
            "the entry point 'other' in sophon.settings of lamps-of-a-test is no RootSection",
        ),
    ],
    ids=["two with a key", "a key of the chain", "a name of a method", "no section"],
)
def test_a_section_that_cannot_be_added_is_named(install: Install, entries: str, problem: str) -> None:
    install(entries)

    with pytest.raises(SettingsError) as caught:
        load_settings(folder=Path("/nonexistent"), environment={})

    assert caught.value.problems == [problem]


@table("values", ["", "{'ToolFilter': {'Top': 3}}"])
def test_settings_of_a_chain_load_nothing_of_a_host_and_no_entry_points(values: str) -> None:
    made = f"Settings.from_mapping({values})" if values else "Settings()"
    program = f"import sys\nfrom sophon.settings import Settings\n{made}\nprint(*sys.modules)"

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not [name for name in run.stdout.split() if name.startswith(("sophon_hosting", "importlib.metadata"))]


def test_settings_of_a_host_load_nothing_of_a_host_but_its_sections() -> None:
    program = (
        "import sys\nfrom sophon.settings import Settings\nSettings.from_mapping({'Goals': {}})\nprint(*sys.modules)"
    )

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    loaded = set(run.stdout.split())
    assert "sophon_hosting.features.goals.settings" in loaded
    assert not [name for name in loaded if name.startswith("sophon_hosting") and name.endswith(".feature")]
    assert not loaded & {"pydantic", "sqlalchemy", "aiohttp", "typer", "sophon.services"}


def test_a_section_that_is_added_to_the_settings_of_a_chain_counts_everywhere() -> None:
    alone = Settings.from_mapping({})
    users = HubSettings.model_validate({"Users": [{"Id": each, "Token": {"$env": each}} for each in ("ADA", "BOB")]})
    shared = alone.model_copy(update={"hub": users})
    assert shared.section(HubSettings) == users
    assert shared.has_several_users()
    assert not alone.has_several_users()
    assert shared != alone
