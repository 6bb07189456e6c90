"""Merging of settings layers: the later layer wins, mappings are merged, lists and secrets are replaced."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from sophon._python.lazy_dataclass import dataclass
from sophon.settings.types.introspection import (
    FieldType,
    get_entry_type,
    get_field_types,
    get_item_type,
    get_section_type,
    normalize_key,
)
from sophon.settings.types.json_type_checks import SettingPath, is_list, is_mapping
from sophon.settings.types.secret_references import is_secret_reference


@dataclass(frozen=True, slots=True)
class SettingsLayer:
    """Values of one source: `source` names it in messages, `values` is the mapping below `Sophon`."""

    source: str
    values: Mapping[str, Any]


def merge_layers(layers: Sequence[SettingsLayer]) -> dict[str, Any]:
    """Merge all layers into a new mapping; the last one wins."""
    return reduce(_merge, (layer.values for layer in layers), dict[str, Any]())


def find_source(layers: Sequence[SettingsLayer], path: SettingPath) -> str | None:
    """Return the name of the last layer that sets `path`; None if no layer does, as for a missing setting."""
    for layer in reversed(layers):
        if _sets(layer.values, path):
            return layer.source
    return None


def normalize_keys(field_type: FieldType, value: Any) -> Any:
    """Return `value` with every known key in its JSON spelling; of a key in both spellings the later one is kept."""
    section = get_section_type(field_type)
    if is_mapping(value) and section is not None:
        normalized = {normalize_key(section, str(key)): each for key, each in value.items()}
        return {key: normalize_keys(get_field_types(section).get(key), each) for key, each in normalized.items()}
    if is_mapping(value) and get_entry_type(field_type) is not None:
        return {key: normalize_keys(get_entry_type(field_type), each) for key, each in value.items()}
    if is_list(value) and get_item_type(field_type) is not None:
        return [normalize_keys(get_item_type(field_type), each) for each in value]
    return value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    return {**below, **{key: _replace_or_merge(below.get(key), each) for key, each in above.items()}}


def _replace_or_merge(below: object, above: object) -> object:
    if is_mapping(below) and is_mapping(above) and not is_secret_reference(below) and not is_secret_reference(above):
        return _merge(below, above)
    return above


def _sets(values: Any, path: SettingPath) -> bool:
    for part in path:
        if is_mapping(values):
            if part not in values:
                return False
            values = values[str(part)]
        elif is_list(values) and isinstance(part, int) and part < len(values):
            values = values[part]
        else:
            return True  # a scalar in place of a section: this layer caused the error
    return True
