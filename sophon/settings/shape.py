"""What lies where in the settings, read from the models: the spelling of keys, and the kind of value at a path."""

import types
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from sophon.settings.secrets import Secret
from sophon.settings.section import Section

Kind = Any
"""A type annotation of a field."""


@lru_cache(maxsize=256)
def keys_of(section: type[Section]) -> Mapping[str, Kind]:
    """The keys of a section as they stand in JSON, in order, each with the kind of its value."""
    return {info.alias or name: info.annotation for name, info in section.model_fields.items()}


@lru_cache(maxsize=256)
def _spellings(section: type[Section]) -> Mapping[str, str]:
    return {name: info.alias or name for name, info in section.model_fields.items()}


def spelled(section: type[Section], key: str, *, any_case: bool = False) -> str:
    """`key` as it stands in JSON, if the section has it by that or by its Python name; else `key` unchanged."""
    if key in keys_of(section):
        return key
    if any_case:
        folded = {known.casefold(): known for known in (*keys_of(section), *_spellings(section))}
        key = folded.get(key.casefold(), key)
    return _spellings(section).get(key, key)


def all_keys(section: type[Section]) -> Iterator[str]:
    """Every key of a section and of all sections below it; a key may come more than once."""
    for key, kind in keys_of(section).items():
        yield key
        below = section_of(kind) or section_of(item_of(kind)) or section_of(entry_of(kind))
        if below is not None:
            yield from all_keys(below)


def section_of(kind: Kind) -> type[Section] | None:
    """The section that `kind` is, null left aside."""
    found = [each for each in alternatives(kind) if isinstance(each, type) and issubclass(each, Section)]
    return found[0] if found else None


def item_of(kind: Kind) -> Kind:
    """The kind of a list's items; None if `kind` is no list."""
    found = [get_args(each)[0] for each in alternatives(kind) if _origin(each) is tuple]
    return found[0] if found else None


def entry_of(kind: Kind) -> Kind:
    """The kind of the values of a mapping with free keys; None if `kind` is no such mapping."""
    found = [get_args(each)[1] for each in alternatives(kind) if _origin(each) is Mapping]
    return found[0] if found else None


def takes_text(kind: Kind) -> bool:
    """Whether a text is a fit value, so that `007` given on a command line stays as it was typed."""
    return any(
        _origin(each) is Literal or (isinstance(each, type) and issubclass(each, str | Path | Secret))
        for each in alternatives(kind)
    )


def kind_at(root: type[Section], path: Sequence[str | int]) -> Kind:
    """The kind of value at `path`, which is in JSON's spelling; None where nothing is known."""
    kind: Kind = root
    for part in path:
        section = section_of(kind)
        if section is not None:
            kind = keys_of(section).get(str(part))
        else:
            kind = item_of(kind) if isinstance(part, int) else entry_of(kind)
    return kind


def alternatives(kind: Kind) -> tuple[Kind, ...]:
    """The members of a union, without annotations; any other kind is its own only one."""
    if _origin(kind) is Annotated:
        return alternatives(get_args(kind)[0])
    if _origin(kind) in {Union, types.UnionType}:
        return tuple(each for part in get_args(kind) for each in alternatives(part))
    return (kind,)


def _origin(kind: Kind) -> Any:
    return get_origin(kind)
