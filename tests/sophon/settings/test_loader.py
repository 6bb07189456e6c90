"""Settings from files, variables and the command line, in this order."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.errors import SettingsError
from sophon.settings import Settings, load_settings
from sophon_hosting.settings.hub import HubSettings

PORTS = st.none() | st.integers(min_value=0, max_value=65535)


def write(folder: Path, values: Any, name: str = "appsettings.json") -> Path:
    file = folder / name
    file.write_text(values if isinstance(values, str) else json.dumps({"Sophon": values}), encoding="utf-8")
    return file


def problems(folder: Path, **places: Any) -> list[str]:
    """What is wrong, with the folder left out."""
    with pytest.raises(SettingsError) as caught:
        load_settings(folder=folder, **{"environment": {}, **places})
    return [line.replace(f"{folder}/", "") for line in caught.value.problems]


def test_without_any_file_the_defaults_hold(tmp_path: Path):
    assert load_settings(folder=tmp_path, environment={"PATH": "/bin"}) == Settings()


@given(st.tuples(PORTS, PORTS, PORTS, PORTS))
def test_the_later_place_wins(tmp_path_factory: pytest.TempPathFactory, ports: tuple[int | None, ...]):
    folder = tmp_path_factory.mktemp("settings")
    base, special, variable, pair = ports
    for name, port in (("appsettings.json", base), ("appsettings.Test.json", special)):
        write(folder, {} if port is None else {"Hub": {"Port": port}}, name)
    environment = {"SOPHON_ENVIRONMENT": "Test"} | ({} if variable is None else {"SOPHON__Hub__Port": str(variable)})
    settings = load_settings(
        folder=folder, environment=environment, overrides=[] if pair is None else [f"Hub.Port={pair}"]
    )
    assert settings.section(HubSettings).port == next((port for port in reversed(ports) if port is not None), 8080)


def test_other_keys_at_the_top_belong_to_others(tmp_path: Path):
    write(tmp_path, '\ufeff{"$schema": "x", "Logging": {"Level": 3}}')
    assert load_settings(folder=tmp_path, environment={}) == Settings()


def test_a_named_file_takes_the_place_of_the_first_and_brings_its_own_second(tmp_path: Path):
    write(tmp_path, {"Hub": {"Port": 1, "Host": "::1"}})
    file = write(tmp_path, {"Hub": {"Port": 2}}, "my.json")
    write(tmp_path, {"ToolFilter": {"Top": 3}}, "my.Test.json")
    settings = load_settings(file=file, environment={"SOPHON_ENVIRONMENT": "Test"})
    hub = settings.section(HubSettings)
    assert (hub.port, hub.host, settings.tool_filter.top) == (2, "127.0.0.1", 3)


def test_a_named_file_has_to_exist(tmp_path: Path):
    assert problems(tmp_path, file=tmp_path / "no.json") == ["no.json: there is no such file"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            '{"Sophon": {\n  "Hub": {"Port": 1 "Host": "x"}}}',
            'line 2, column 21: expecting \',\' delimiter: "Hub": {"Port": *** "Host": "***"}}}',
        ),
        ('{"Sophon": {\n  "Hub": {"Port": 1},\n}}', 'line 2, column 21: a comma too many: "Hub": {"Port": ***},'),
        ('{\n// mine\n"Sophon": {}}', "line 2, column 1: JSON has no comments: // ***"),
        ("", "the file is empty; write {} for no settings"),
        (" \n\n", "the file is empty; write {} for no settings"),
        (
            '{"Sophon": {',
            'line 1, column 13: the file ends here, and a bracket or brace is still open: {"Sophon": {',
        ),
        (
            '{"Sophon": {\n  "Hub": {}\n\n',
            'line 2, column 12: the file ends here, and a bracket or brace is still open: "Hub": {}',
        ),
        ("[]", "a mapping ({...}) is expected, not a list"),
        ('{"Sophon": {"Hub": {}, "Hub": {}}}', "the key 'Hub' is given twice in one mapping"),
        ('{"Sophon": {"ContextWindow": {"Trigger": NaN}}}', "NaN is not valid JSON"),
        ("[" * 100_000, "the JSON is nested too deeply"),
    ],
)
def test_a_broken_file_is_told_with_its_place(tmp_path: Path, text: str, problem: str):
    write(tmp_path, text)
    assert problems(tmp_path) == [f"appsettings.json: {problem}"]


@pytest.mark.parametrize(
    "line",
    [
        '"Token": "hunter2" "x"',
        '"Token": "hunter2',
        '"Token: "hunter2"',
        "'Token': 'hunter2'",
        "Token: hunter2",
        '"Token": "a:hunter2,hunter2 hunter2" 5',
        '"hunter2" 5',
        "Token=hunter2",
    ],
)
def test_a_broken_line_is_shown_without_what_may_be_a_secret(tmp_path: Path, line: str):
    write(tmp_path, f'{{"Sophon": {{\n{line}\n}}}}')
    (problem,) = problems(tmp_path)
    assert "hunter2" not in problem
    assert "appsettings.json: line " in problem


def test_a_file_that_is_no_text_is_told(tmp_path: Path):
    (tmp_path / "appsettings.json").write_bytes(b'{"a": "\xff"}')
    assert problems(tmp_path) == ["appsettings.json: not UTF-8 text, from byte 7"]


def test_a_folder_in_place_of_a_file_is_told(tmp_path: Path):
    (tmp_path / "appsettings.json").mkdir()
    assert problems(tmp_path) == ["appsettings.json: cannot be read: Is a directory"]


@pytest.mark.parametrize("below", [[], None, "text", 3])
def test_what_lies_below_sophon_is_a_mapping(tmp_path: Path, below: Any):
    write(tmp_path, json.dumps({"Sophon": below}))
    assert problems(tmp_path)[0].startswith("Sophon: a mapping ({...}) is expected, not ")


def test_sophon_in_small_letters_is_not_taken_for_somebody_elses(tmp_path: Path):
    write(tmp_path, '{"sophon": {"Hub": {"Port": 1}}}')
    assert problems(tmp_path) == ["sophon: unknown setting; did you mean Sophon? [appsettings.json]"]


def test_a_slip_in_the_outermost_key_does_not_drop_all_settings(tmp_path: Path):
    write(tmp_path, '{"Sofon": {"Hub": {"Port": 1}}}')
    assert problems(tmp_path) == ["Sofon: unknown setting; did you mean Sophon? [appsettings.json]"]


@pytest.mark.parametrize("name", ["../other", "a/b", "a b", "."])
def test_an_environment_is_a_name_and_no_path(tmp_path: Path, name: str):
    (problem,) = problems(tmp_path, environment={"SOPHON_ENVIRONMENT": name})
    assert problem.startswith("SOPHON_ENVIRONMENT: ")


def test_every_place_tells_its_mistakes_with_its_name(tmp_path: Path):
    write(tmp_path, {"Hub": {"Prot": 1}, "Providers": [{"Id": "a"}]})
    found = problems(
        tmp_path,
        environment={"SOPHON__Planning__Mode": "x", "SOPHON__Providers__0__Id": "b", "SOPHON__Hub____Port": "1"},
        overrides=["Hub:Port=abc", "sk-forgotten"],
    )
    assert found == [
        "Providers[0].Type: is required and missing [appsettings.json]",
        "Planning.Mode: 'x' is none of 'Auto', 'LlmDecides', 'Always' or 'Never' [SOPHON__Planning__Mode]",
        "Hub.Port: 'abc' is not a whole number [command line]",
        "Hub.Prot: unknown setting; did you mean Port? [appsettings.json]",
        "Hub..Port: a part of its name is empty [SOPHON__Hub____Port]",
        "Providers: a list must be given as a whole, as JSON: Providers=[...] [SOPHON__Providers__0__Id]",
        "--set: setting 2 has no =; write it as Hub.Port=8081",
    ]
