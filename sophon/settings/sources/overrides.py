"""Settings from environment variables and the command line: each variable, and each pair, becomes a layer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sophon.settings.sources.json_files import ROOT_KEY, parse_strict_json
from sophon.settings.sources.layers import SettingsLayer
from sophon.settings.types.introspection import (
    FieldType,
    accepts_text,
    get_entry_type,
    get_field_types,
    get_item_type,
    get_section_type,
    normalize_key,
)
from sophon.settings.types.json_type_checks import describe_json_type
from sophon.settings.types.section import SettingsSection
from sophon.settings.validation_errors import format_path

ENVIRONMENT_PREFIX = "SOPHON__"
"""Prefix of environment variables that are settings: `SOPHON__Hub__Port=8081`. Case-insensitive."""

SettingOverrides = Mapping[str, object] | Sequence[str]
"""Overrides from the command line: `["Hub.Port=8081"]`, or `{"Hub.Port": 8081}`."""

COMMAND_LINE_SOURCE = "command line"
"""Source name of overrides in error messages; the path in the message identifies the override."""

SettingOverride = tuple[str, list[str], object]
"""Source, parts of the path, value."""


def layers_from_environment(
    root: type[SettingsSection], environment: Mapping[str, str]
) -> tuple[list[SettingsLayer], list[str]]:
    """Return the layers of all variables with `ENVIRONMENT_PREFIX`, more specific ones later, and their problems."""
    found = [name for name in environment if name.upper().startswith(ENVIRONMENT_PREFIX)]
    found.sort(key=lambda name: (name.count("__"), name))
    given = [(name, name[len(ENVIRONMENT_PREFIX) :].split("__"), environment[name]) for name in found]
    return _build_layers(root, given)


def layers_from_pairs(
    root: type[SettingsSection], overrides: SettingOverrides
) -> tuple[list[SettingsLayer], list[str]]:
    """Return the layers of `A.B=value` or `A:B=value` pairs in their order, and their problems."""
    if isinstance(overrides, Mapping):
        return _build_layers(
            root, [(COMMAND_LINE_SOURCE, _split_path(path), value) for path, value in overrides.items()]
        )
    split = [pair.partition("=") for pair in overrides]
    # The text without "=" may be a secret, so the message gives only its position in the list.
    missing = [
        f"--set: setting {position} has no {'name before the =' if equals else '='}; write it as Hub.Port=8081"
        for position, (path, equals, _) in enumerate(split, 1)
        if not (path.strip() and equals)
    ]
    given = [(path, value) for path, equals, value in split if path.strip() and equals]
    layers, problems = _build_layers(root, [(COMMAND_LINE_SOURCE, _split_path(path), value) for path, value in given])
    return layers, missing + problems


def _build_layers(
    root: type[SettingsSection], given: Sequence[SettingOverride]
) -> tuple[list[SettingsLayer], list[str]]:
    """Return a layer for each override, in their order, and the problems of those that name no setting."""
    layers: list[SettingsLayer] = []
    problems: list[str] = []
    for name, parts, value in given:
        steps = list(_resolve_path(root, parts))
        path = [key for key, _ in steps]
        lists = [n for n, (_, field_type) in enumerate(steps[:-1], 1) if get_item_type(field_type)]
        if lists:
            whole = format_path(path[: lists[0]])
            problems.append(f"{whole}: a list must be given as a whole, as JSON: {whole}=[...] [{name}]")
        elif not all(path):
            problems.append(f"{format_path(path)}: a part of its name is empty [{name}]")
        else:
            layers.append(SettingsLayer(name, _nest(path, _parse_value(steps[-1][1], value))))
    return layers, problems


def _resolve_path(root: type[SettingsSection], parts: Sequence[str]) -> Iterator[tuple[str, FieldType]]:
    """Yield each part in its JSON spelling, with the type of the setting there."""
    field_type: FieldType = root
    for part in parts:
        section = get_section_type(field_type)
        key = normalize_key(section, part, any_case=True) if section else part
        field_type = get_field_types(section).get(key) if section else get_entry_type(field_type)
        yield key, field_type


def _nest(path: Sequence[str], value: Any) -> dict[str, Any]:
    for part in reversed(path):
        value = {part: value}
    return dict(value)


def _parse_value(field_type: FieldType, value: object) -> object:
    """Parse a text as JSON if it is valid JSON, but never to a number or boolean where a text is expected."""
    if not isinstance(value, str):
        return value
    if value.lower() in {"true", "false"} and not accepts_text(field_type):
        return value.lower() == "true"
    try:
        parsed = parse_strict_json(value)
    except ValueError:
        return value
    return value if accepts_text(field_type) and describe_json_type(parsed) in {"a number", "true or false"} else parsed


def _split_path(path: str) -> list[str]:
    parts = [part.strip() for part in path.lstrip("-").split(":" if ":" in path else ".")]
    return parts[1:] if len(parts) > 1 and parts[0].casefold() == ROOT_KEY.casefold() else parts
