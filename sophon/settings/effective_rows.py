"""The effective settings as rows: path, value without secrets, where it comes from, what it means."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.security import redact
from sophon.settings.changeable import list_changeable
from sophon.settings.json_schema import JsonSchemaObject, resolve_definition, settings_schema
from sophon.settings.loader import LoadedSettings
from sophon.settings.root import Settings, redact_settings
from sophon.settings.sources.json_files import ROOT_KEY


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting. `source` is None for a default, and the chain for a constant of it; `choices` are the texts that it
    may be, if they are few.
    """

    path: str
    value: object
    source: str | None
    description: str
    can_change: bool
    choices: tuple[str, ...] = ()


def list_effective_settings(loaded: LoadedSettings, in_force: Settings) -> list[SettingRow]:
    """Return a row for each setting; lists and mappings with free keys are one value. Secrets are their references.

    `in_force` are the settings with the constants of their chain, which is the source of what they change.
    """
    schema = settings_schema()
    written, values = redact_settings(loaded.settings), redact_settings(in_force)
    return list(_rows(loaded, schema["properties"][ROOT_KEY], schema["$defs"], written, values, ()))


def _rows(
    loaded: LoadedSettings,
    section: JsonSchemaObject,
    definitions: Mapping[str, JsonSchemaObject],
    written: Mapping[str, Any],
    values: Mapping[str, Any],
    path: tuple[str, ...],
) -> Iterator[SettingRow]:
    for key, field in section["properties"].items():
        here = (*path, key)
        inner = resolve_definition(field, definitions)
        before, value = written.get(key), values.get(key)
        if inner is not None and isinstance(value, Mapping) and isinstance(before, Mapping):
            yield from _rows(
                loaded, inner, definitions, cast(Mapping[str, Any], before), cast(Mapping[str, Any], value), here
            )
            continue
        name = ".".join(here)
        choices = tuple(str(each) for each in field.get("enum", ()))
        description = str(field["description"])
        source = loaded.find_source(here) if value == before else f"the chain {loaded.settings.chain.name}"
        yield SettingRow(name, _redact(cast(object, value)), source, description, name in list_changeable(), choices)


def _redact(value: object) -> object:
    """Return a JSON value with the secrets in its texts replaced: those of names that no setting declares secret."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {str(key): _redact(each) for key, each in cast(Mapping[object, object], value).items()}
    if isinstance(value, list):
        return [_redact(each) for each in cast(list[object], value)]
    return value
