"""The JSON files that settings are read from."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from sophon.errors import SettingsError
from sophon.settings.layers import Layer
from sophon.settings.plain import is_mapping, kind_of_json
from sophon.settings.secrets import HIDDEN, anchored
from sophon.settings.section import Section
from sophon.settings.shape import all_keys

ROOT = "Sophon"
"""The key in a settings file below which all of ours lies; other keys belong to others."""

# Everything in a line of JSON that is neither structure nor white space.
_WORD = re.compile(r"""[^\s{}\[\],:"']+""")
_HARMLESS = re.compile(r"true|false|null|\$env|\$file|[/*=;]+")


def read_layer(root: type[Section], file: Path, *, named: bool = False) -> Layer | None:
    """Read the part below `Sophon`; None if there is no such file, which is an error only if it was `named`.

    Raises SettingsError with file, line, column and the line itself, in which values are hidden.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if named:
            raise SettingsError([f"{file}: there is no such file"]) from None
        return None
    except UnicodeDecodeError as error:
        raise SettingsError([f"{file}: not UTF-8 text, from byte {error.start}"]) from None
    except OSError as error:
        raise SettingsError([f"{file}: cannot be read: {error.strerror}"]) from None
    return Layer(str(file), anchored(_below_root(file, _parsed(root, file, text)), file.parent))


def strict_json(text: str) -> Any:
    """Parse JSON as its standard has it: without NaN, Infinity and keys given twice. Raises ValueError."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _parsed(root: type[Section], file: Path, text: str) -> Any:
    if not text.strip():
        raise SettingsError([f"{file}: it is empty; {{}} stands for no settings"])
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        position, reason = _cause(error)
        before = text[:position]
        number, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
        shown = _masked(root, text.split("\n")[number - 1])
        raise SettingsError([f"{file}: line {number}, column {column}: {reason}: {shown}"]) from None
    except ValueError as error:
        raise SettingsError([f"{file}: {error}"]) from None


def _cause(error: json.JSONDecodeError) -> tuple[int, str]:
    position, rest = error.pos, error.doc[error.pos :]
    before = error.doc[:position].rstrip()
    if not rest.strip():  # where the last word stands: the rest of the file has nothing to show
        return len(before), "the file ends here, and a bracket or brace is still open"
    if rest.startswith(("//", "/*")):
        return position, "JSON has no comments"
    if rest[:1] in {"}", "]"} and before.endswith(","):
        return len(before) - 1, "a comma too many"
    return position, error.msg[:1].lower() + error.msg[1:]


def _masked(root: type[Section], line: str) -> str:
    """The line with all that could be a secret hidden: known keys and the structure stay, values go."""
    known = {ROOT, *all_keys(root)}
    return _WORD.sub(lambda word: word[0] if word[0] in known or _HARMLESS.fullmatch(word[0]) else HIDDEN, line.strip())


def _below_root(file: Path, values: object) -> Mapping[str, Any]:
    if not is_mapping(values):
        raise SettingsError([f"{file}: a mapping ({{...}}) is expected, not {kind_of_json(values)}"])
    for key in values:
        if key != ROOT and key.casefold() == ROOT.casefold():
            raise SettingsError([f"{key}: unknown setting; did you mean {ROOT}? [{file}]"])
    below = values.get(ROOT, {})
    if not is_mapping(below):
        raise SettingsError([f"{ROOT}: a mapping ({{...}}) is expected, not {kind_of_json(below)} [{file}]"])
    return below


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"the key {key!r} is given twice in one mapping")
        made[key] = value
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
