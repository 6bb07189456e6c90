"""JSON settings files: reading, strict JSON parsing, and error messages with line and column."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from sophon._python.lazy_pattern import lazy_pattern
from sophon.errors import SettingsError
from sophon.settings.sources.layers import SettingsLayer
from sophon.settings.types.introspection import get_field_types, iterate_keys
from sophon.settings.types.json_type_checks import describe_json_type, is_mapping
from sophon.settings.types.secret_references import REDACTED, resolve_file_paths
from sophon.settings.types.section import SettingsSection

ROOT_KEY = "Sophon"
"""Key in a settings file that contains all settings of Sophon; other keys are ignored."""

SHARED_SECTIONS = frozenset({"logging"})
"""Sections that files of other programs have at the top level too, in lower case."""

# Everything in a line of JSON that is neither punctuation nor white space.
_WORD = lazy_pattern(r"""[^\s{}\[\],:"']+""")
_HARMLESS = lazy_pattern(r"true|false|null|\$env|\$file|[/*=;]+")


def read_settings_file(root: type[SettingsSection], file: Path, *, required: bool = False) -> SettingsLayer | None:
    """Read the mapping below `Sophon`; a missing file gives None, or SettingsError if the user `required` it.

    Raises SettingsError with file, line, column and the line itself, in which values are masked.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if required:
            raise SettingsError([f"{file}: there is no such file"]) from None
        return None
    except UnicodeDecodeError as error:
        raise SettingsError([f"{file}: not UTF-8 text, from byte {error.start}"]) from None
    except OSError as error:
        raise SettingsError([f"{file}: cannot be read: {error.strerror}"]) from None
    return SettingsLayer(
        str(file), resolve_file_paths(_get_root_mapping(root, file, _parse_file(root, file, text)), file.parent)
    )


def parse_strict_json(text: str) -> Any:
    """Parse JSON strictly: NaN, Infinity and duplicate keys raise ValueError."""
    try:
        return json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_reject_duplicate_keys)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _parse_file(root: type[SettingsSection], file: Path, text: str) -> Any:
    if not text.strip():
        raise SettingsError([f"{file}: the file is empty; write {{}} for no settings"])
    try:
        return parse_strict_json(text)
    except json.JSONDecodeError as error:
        position, reason = _locate_error(error)
        before = text[:position]
        number, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
        masked = _mask_values(root, text.split("\n")[number - 1])
        raise SettingsError([f"{file}: line {number}, column {column}: {reason}: {masked}"]) from None
    except ValueError as error:
        raise SettingsError([f"{file}: {error}"]) from None


def _locate_error(error: json.JSONDecodeError) -> tuple[int, str]:
    position, rest = error.pos, error.doc[error.pos :]
    before = error.doc[:position].rstrip()
    if not rest.strip():  # report the position of the last token
        return len(before), "the file ends here, and a bracket or brace is still open"
    if rest.startswith(("//", "/*")):
        return position, "JSON has no comments"
    if rest[:1] in {"}", "]"} and before.endswith(","):
        return len(before) - 1, "a comma too many"
    return position, error.msg[:1].lower() + error.msg[1:]


def _mask_values(root: type[SettingsSection], line: str) -> str:
    """Return the line with every possible secret masked: known keys and punctuation are kept, values are not."""
    known = {ROOT_KEY, *iterate_keys(root)}
    return _WORD.sub(
        lambda word: word[0] if word[0] in known or _HARMLESS.fullmatch(word[0]) else REDACTED, line.strip()
    )


def _get_root_mapping(root: type[SettingsSection], file: Path, values: object) -> Mapping[str, Any]:
    if not is_mapping(values):
        raise SettingsError([f"{file}: a mapping ({{...}}) is expected, not {describe_json_type(values)}"])
    for key in values:
        if key != ROOT_KEY and get_close_matches(key.casefold(), [ROOT_KEY.casefold()]):
            raise SettingsError([f"{key}: unknown setting; did you mean {ROOT_KEY}? [{file}]"])
    misplaced = [] if ROOT_KEY in values else find_misplaced_sections(root, values)
    if misplaced:
        raise SettingsError(
            [
                f'{key}: it must be below the key {ROOT_KEY}: {{"{ROOT_KEY}": {{"{key}": ...}}}} [{file}]'
                for key in misplaced
            ]
        )
    below = values.get(ROOT_KEY, {})
    if not is_mapping(below):
        raise SettingsError([f"{ROOT_KEY}: a mapping ({{...}}) is expected, not {describe_json_type(below)} [{file}]"])
    return below


def find_misplaced_sections(root: type[SettingsSection], values: Mapping[str, Any]) -> list[str]:
    """Return the top-level keys that are sections of `root`; none if all of them are also those of other programs."""
    sections = {name.casefold() for name in get_field_types(root)}
    found = [key for key in values if key.casefold() in sections]
    return [] if all(key.casefold() in SHARED_SECTIONS for key in found) else found


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise ValueError(f"the key {key!r} is given twice in one mapping")
        mapping[key] = value
    return mapping


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")
