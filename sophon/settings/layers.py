"""Merging of settings layers: the later layer wins, mappings are merged, lists and secrets are replaced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sophon.settings.plain import SettingPath, is_list, is_mapping
from sophon.settings.secrets import is_reference
from sophon.settings.shape import Kind, entry_of, item_of, keys_of, section_of, spelled


@dataclass(frozen=True, slots=True)
class Layer:
    """Values of one source: `source` names it in messages, `values` is the mapping below `Sophon`."""

    source: str
    values: Mapping[str, Any]


def merged(layers: Sequence[Layer]) -> dict[str, Any]:
    """Merge all layers into a new mapping; the last one wins."""
    return reduce(_merge, (layer.values for layer in layers), dict[str, Any]())


def source_of(layers: Sequence[Layer], path: SettingPath) -> str | None:
    """Return the name of the last layer that sets `path`; None if no layer does, as for a missing setting."""
    for layer in reversed(layers):
        if _sets(layer.values, path):
            return layer.source
    return None


def canonical(field_type: Kind, value: Any) -> Any:
    """Return `value` with every known key in its JSON spelling; of a key in both spellings the later one is kept."""
    section = section_of(field_type)
    if is_mapping(value) and section is not None:
        normalized = {spelled(section, str(key)): each for key, each in value.items()}
        return {key: canonical(keys_of(section).get(key), each) for key, each in normalized.items()}
    if is_mapping(value) and entry_of(field_type) is not None:
        return {key: canonical(entry_of(field_type), each) for key, each in value.items()}
    if is_list(value) and item_of(field_type) is not None:
        return [canonical(item_of(field_type), each) for each in value]
    return value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    return {**below, **{key: _replace_or_merge(below.get(key), each) for key, each in above.items()}}


def _replace_or_merge(below: object, above: object) -> object:
    if is_mapping(below) and is_mapping(above) and not is_reference(below) and not is_reference(above):
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
