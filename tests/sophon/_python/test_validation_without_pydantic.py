"""Values that are accepted without pydantic are valid, and pydantic makes the same of them."""

import dataclasses
import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

from sophon.settings import Settings
from sophon.settings.types.section import SettingsSection, _get_validator
from tests.tables import table

CANDIDATES: list[Any] = [
    *(0, 1, -1, 7, 2**53 + 1, 10**30, 0.0, 0.5, 1.5, float("nan"), float("inf"), True, False, None),
    *("", " ", "x", "X\n", "\ud800", "é", "high", "HIGH", "00:05:00", "0:0:0", "00:05", "10.0.0.0/8", "10.0.0.1/8"),
    *("https://example.org/v1", "http://a:b@c", "ftp://x", "a.b:c", "UTC", "Europe/Berlin", "No/Where", "../x", "*"),
    *(b"x", [], ["x"], ["x", 1], [0, 1], [0.1, 0.9], ("x",), {"x"}, {}, {"x": "y"}, {"x": ["y"]}, {"x": {}}, {1: "x"}),
    *({"$env": "NAME"}, {"$file": "x"}, {"$env": ""}, {"a": 1, "b": 2}, timedelta(seconds=3), Path("x"), [{}]),
]
REQUIRED: dict[str, Any] = {
    "id": "a",
    "type": "openai",
    "name": "x",
    "models": ["m"],
    "patterns": ["x"],
    "input": 1,
    "output": 2,
    "hosts": ["example.org"],
    "principal": "*",
    "resource": "*",
    "secret": "s",
    "token": "t",
    "url": "https://example.org",
    "key": "long enough for a shared secret, which has 32 bytes",
}


def list_sections(section: type[SettingsSection]) -> set[type[SettingsSection]]:
    found = {section}

    def walk(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, SettingsSection) and annotation not in found:
            found.add(annotation)
            for each in dataclasses.fields(annotation):  # type: ignore[arg-type]
                walk(each.type)
        for each in get_args(annotation):
            walk(each)

    for each in dataclasses.fields(section):  # type: ignore[arg-type]
        walk(each.type)
    return found


def list_options(annotation: Any) -> list[Any]:
    """The options of the Literals in a type, in lower case: the declared spelling is found."""
    own = [each.lower() for each in get_args(annotation) if isinstance(each, str)]
    return own + [option for each in get_args(annotation) for option in list_options(each)]


SECTIONS = sorted(list_sections(Settings), key=lambda each: each.__name__)


def plain(section: type[SettingsSection], values: object) -> object | None:
    try:
        return section.accept_plain(values)
    except ValueError:
        return None


@table("section", SECTIONS)
def test_what_is_accepted_without_pydantic_is_what_pydantic_makes_of_it(section: type[SettingsSection]) -> None:
    base = {
        info.alias: REQUIRED.get(name, next(iter(list_options(each.type)), "x"))
        for (name, info), each in zip(section.model_fields.items(), dataclasses.fields(section), strict=True)  # type: ignore[arg-type]
        if each.default is each.default_factory is dataclasses.MISSING
    }
    accepted = 0
    for name, info in section.model_fields.items():
        for key in (info.alias, name, info.alias.lower()):
            for candidate in (*CANDIDATES, *list_options(info.annotation)):
                values = {**base, key: candidate}
                found = plain(section, values)
                if found is not None:
                    accepted += 1
                    made = _get_validator(section).validate_python(values)
                    assert repr(found) == repr(made), values
                    assert (found, vars(found)) == (made, vars(made)), values
    assert accepted >= len(section.model_fields)


@table(
    "values", [[], None, {"Nonsense": 1}, {"Hub": {"Port": "x"}}, {"Hub": {"Port": 1, "port": 1}}, {"Providers": [{}]}]
)
def test_everything_else_is_left_to_pydantic(values: Any) -> None:
    assert plain(Settings, values) is None


def test_the_settings_of_a_host_with_a_provider_load_no_pydantic() -> None:
    provider = {
        "Id": "main",
        "Type": "OpenAI_compatible",
        "BaseUrl": "http://127.0.0.1:9/v1",
        "Models": ["m"],
        "Keys": [{"$env": "KEY"}],
        "Timeout": "00:05:00",
        "Prices": {"Input": 1, "Output": 2.5},
    }
    values = {"Providers": [provider], "Hub": {"Port": 0}, "Planning": {"Mode": "never"}}
    code = f"""
import json, sys
from sophon.settings import Settings
settings = Settings.from_mapping(json.loads({json.dumps(json.dumps(values))}))
assert settings.providers[0].type == "openai_compatible" and settings.planning.mode == "Never"
assert settings.model_fields_set == {{"providers", "hub", "planning"}}
assert "pydantic_core" not in sys.modules, "pydantic"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
