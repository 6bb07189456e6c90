"""Introspection of the settings models: JSON spelling of keys, and the type of the setting at a path."""

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from sophon.settings.secrets import Secret
from sophon.settings.section import Section

Kind = Any
"""Type annotation of a field."""


@lru_cache(maxsize=256)
def keys_of(section: type[Section]) -> Mapping[str, Kind]:
    """Return the JSON keys of a section in order, each with the type of its value."""
    return {info.alias or name: info.annotation for name, info in section.model_fields.items()}


@lru_cache(maxsize=256)
def _spellings(section: type[Section]) -> Mapping[str, str]:
    return {name: info.alias or name for name, info in section.model_fields.items()}


def spelled(section: type[Section], key: str, *, any_case: bool = False) -> str:
    """Return the JSON spelling of `key`, given that or its Python name; an unknown key unchanged."""
    if key in keys_of(section):
        return key
    if any_case:
        folded = {known.casefold(): known for known in (*keys_of(section), *_spellings(section))}
        key = folded.get(key.casefold(), key)
    return _spellings(section).get(key, key)


def all_keys(section: type[Section]) -> Iterator[str]:
    """Yield every key of a section and of all sections below it; a key may be repeated."""
    for key, field_type in keys_of(section).items():
        yield key
        below = section_of(field_type) or section_of(item_of(field_type)) or section_of(entry_of(field_type))
        if below is not None:
            yield from all_keys(below)


def section_of(field_type: Kind) -> type[Section] | None:
    """Return the section type in `field_type`, ignoring null; None if there is none."""
    found = [each for each in alternatives(field_type) if isinstance(each, type) and issubclass(each, Section)]
    return found[0] if found else None


def item_of(field_type: Kind) -> Kind:
    """Return the item type of a list; None if `field_type` is not a list."""
    found = [get_args(each)[0] for each in alternatives(field_type) if _origin(each) is tuple]
    return found[0] if found else None


def entry_of(field_type: Kind) -> Kind:
    """Return the value type of a mapping with free keys; None if `field_type` is not such a mapping."""
    found = [get_args(each)[1] for each in alternatives(field_type) if _origin(each) is Mapping]
    return found[0] if found else None


def takes_text(field_type: Kind) -> bool:
    """Return whether a text is a valid value, so that `007` on a command line stays a text."""
    return any(
        _origin(each) is Literal or (isinstance(each, type) and issubclass(each, str | Path | Secret))
        for each in alternatives(field_type)
    )


def kind_at(root: type[Section], path: Sequence[str | int]) -> Kind:
    """Return the type of the setting at `path`, in JSON spelling; None for an unknown path."""
    field_type: Kind = root
    for part in path:
        section = section_of(field_type)
        if section is not None:
            field_type = keys_of(section).get(str(part))
        else:
            field_type = item_of(field_type) if isinstance(part, int) else entry_of(field_type)
    return field_type


def alternatives(field_type: Kind) -> tuple[Kind, ...]:
    """Return the members of a union without annotations; for any other type a tuple of itself."""
    if _origin(field_type) is Annotated:
        return alternatives(get_args(field_type)[0])
    if _origin(field_type) in {Union, types.UnionType}:
        return tuple(each for part in get_args(field_type) for each in alternatives(part))
    return (field_type,)


def _origin(field_type: Kind) -> Any:
    return get_origin(field_type)
