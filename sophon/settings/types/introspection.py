"""Introspection of the settings models: JSON spelling of keys, and the type of the setting at a path."""

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import SettingsSection

FieldType = Any
"""Type annotation of a field."""


@lru_cache(maxsize=256)
def get_field_types(section: type[SettingsSection]) -> Mapping[str, FieldType]:
    """Return the JSON keys of a section in order, each with the type of its value."""
    return {info.alias or name: info.annotation for name, info in section.model_fields.items()}


@lru_cache(maxsize=256)
def _spellings(section: type[SettingsSection]) -> Mapping[str, str]:
    return {name: info.alias or name for name, info in section.model_fields.items()}


def normalize_key(section: type[SettingsSection], key: str, *, any_case: bool = False) -> str:
    """Return the JSON spelling of `key`, given that or its Python name; an unknown key unchanged."""
    if key in get_field_types(section):
        return key
    if any_case:
        folded = {known.casefold(): known for known in (*get_field_types(section), *_spellings(section))}
        key = folded.get(key.casefold(), key)
    return _spellings(section).get(key, key)


def iterate_keys(section: type[SettingsSection]) -> Iterator[str]:
    """Yield every key of a section and of all sections below it; a key may be repeated."""
    for key, field_type in get_field_types(section).items():
        yield key
        below = (
            get_section_type(field_type)
            or get_section_type(get_item_type(field_type))
            or get_section_type(get_entry_type(field_type))
        )
        if below is not None:
            yield from iterate_keys(below)


def get_section_type(field_type: FieldType) -> type[SettingsSection] | None:
    """Return the section type in `field_type`, ignoring null; None if there is none."""
    found = [
        each for each in list_union_members(field_type) if isinstance(each, type) and issubclass(each, SettingsSection)
    ]
    return found[0] if found else None


def get_item_type(field_type: FieldType) -> FieldType:
    """Return the item type of a list; None if `field_type` is not a list."""
    found = [get_args(each)[0] for each in list_union_members(field_type) if _origin(each) is tuple]
    return found[0] if found else None


def get_entry_type(field_type: FieldType) -> FieldType:
    """Return the value type of a mapping with free keys; None if `field_type` is not such a mapping."""
    found = [get_args(each)[1] for each in list_union_members(field_type) if _origin(each) is Mapping]
    return found[0] if found else None


def accepts_text(field_type: FieldType) -> bool:
    """Return whether a text is a valid value, so that `007` on a command line stays a text."""
    return any(
        _origin(each) is Literal or (isinstance(each, type) and issubclass(each, str | Path | Secret))
        for each in list_union_members(field_type)
    )


def find_type_at(root: type[SettingsSection], path: Sequence[str | int]) -> FieldType:
    """Return the type of the setting at `path`, in JSON spelling; None for an unknown path."""
    field_type: FieldType = root
    for part in path:
        section = get_section_type(field_type)
        if section is not None:
            field_type = get_field_types(section).get(str(part))
        else:
            field_type = get_item_type(field_type) if isinstance(part, int) else get_entry_type(field_type)
    return field_type


def list_union_members(field_type: FieldType) -> tuple[FieldType, ...]:
    """Return the members of a union without annotations; for any other type a tuple of itself."""
    if _origin(field_type) is Annotated:
        return list_union_members(get_args(field_type)[0])
    if _origin(field_type) in {Union, types.UnionType}:
        return tuple(each for part in get_args(field_type) for each in list_union_members(part))
    return (field_type,)


def _origin(field_type: FieldType) -> Any:
    return get_origin(field_type)
