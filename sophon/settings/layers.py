"""How settings from several places become one: later wins, mappings merge, lists and secrets are replaced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sophon.settings.plain import is_list, is_mapping
from sophon.settings.secrets import is_reference
from sophon.settings.shape import Kind, entry_of, item_of, keys_of, section_of, spelled

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says: `source` names the place for people, `values` is the part below `Sophon`."""

    source: str
    values: Mapping[str, Any]


def merged(layers: Sequence[Layer]) -> dict[str, Any]:
    """All layers as one mapping, the last one winning. The layers themselves stay as they are."""
    return reduce(_merge, (layer.values for layer in layers), dict[str, Any]())


def source_of(layers: Sequence[Layer], place: Place) -> str | None:
    """The last layer that says anything about `place`, by name; None if none does, as for what is missing."""
    for layer in reversed(layers):
        if _reaches(layer.values, place):
            return layer.source
    return None


def canonical(kind: Kind, value: Any) -> Any:
    """`value` with every known key in JSON's spelling; a key given in both spellings keeps the later one."""
    section = section_of(kind)
    if is_mapping(value) and section is not None:
        spelt = {spelled(section, str(key)): each for key, each in value.items()}
        return {key: canonical(keys_of(section).get(key), each) for key, each in spelt.items()}
    if is_mapping(value) and entry_of(kind) is not None:
        return {key: canonical(entry_of(kind), each) for key, each in value.items()}
    if is_list(value) and item_of(kind) is not None:
        return [canonical(item_of(kind), each) for each in value]
    return value


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    return {**below, **{key: _over(below.get(key), each) for key, each in above.items()}}


def _over(below: object, above: object) -> object:
    if is_mapping(below) and is_mapping(above) and not is_reference(below) and not is_reference(above):
        return _merge(below, above)
    return above


def _reaches(values: Any, place: Place) -> bool:
    for part in place:
        if is_mapping(values):
            if part not in values:
                return False
            values = values[str(part)]
        elif is_list(values) and isinstance(part, int) and part < len(values):
            values = values[part]
        else:
            return True  # what stands there is no group at all, and that is the mistake
    return True
