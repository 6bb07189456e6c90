"""Settings layers of single-setting overrides, shared by environment variables and the command line."""

from collections.abc import Iterator, Sequence
from typing import Any

from sophon.settings.sources.json_files import parse_strict_json
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
from sophon.settings.types.json_types import describe_json_type
from sophon.settings.types.section import SettingsSection
from sophon.settings.validation_errors import format_path

SettingOverride = tuple[str, list[str], object]
"""Source, parts of the path, value."""


def build_override_layers(
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
