"""Settings given one by one: environment variables and command line pairs, each of which becomes a layer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sophon.settings.layers import Layer
from sophon.settings.plain import kind_of_json
from sophon.settings.report import written
from sophon.settings.section import Section
from sophon.settings.shape import Kind, entry_of, item_of, keys_of, section_of, spelled, takes_text
from sophon.settings.sources import ROOT, strict_json

PREFIX = "SOPHON__"
"""Environment variables that begin so are settings: `SOPHON__Hub__Port=8081`. Case does not matter."""

Overrides = Mapping[str, object] | Sequence[str]
"""Pairs from a command line: `["Hub.Port=8081"]`, or `{"Hub.Port": 8081}`."""

COMMAND_LINE = "command line"
"""What pairs are called as the source of a mistake; which of them it is, the path of the mistake says."""

_Given = tuple[str, list[str], object]
"""Source, parts of the path, value."""


def from_environment(root: type[Section], environment: Mapping[str, str]) -> tuple[list[Layer], list[str]]:
    """The layers of all variables with our prefix, the more specific ones later, and the problems with them."""
    found = [name for name in environment if name.upper().startswith(PREFIX)]
    found.sort(key=lambda name: (name.count("__"), name))
    given = [(name, name[len(PREFIX) :].split("__"), environment[name]) for name in found]
    return _layers(root, given)


def from_pairs(root: type[Section], overrides: Overrides) -> tuple[list[Layer], list[str]]:
    """The layers of `A.B=value` or `A:B=value` pairs in their order, and the problems with them."""
    if isinstance(overrides, Mapping):
        return _layers(root, [(COMMAND_LINE, _parts(path), value) for path, value in overrides.items()])
    given = [(pair.partition("=")[0], pair.partition("=")[2]) for pair in overrides if "=" in pair]
    # What follows a forgotten sign may be a secret: only its place in the list is told.
    places = [place for place, pair in enumerate(overrides, 1) if "=" not in pair]
    lost = [f"setting {place} has no =; write it as Hub.Port=8081 [{COMMAND_LINE}]" for place in places]
    layers, problems = _layers(root, [(COMMAND_LINE, _parts(path), value) for path, value in given])
    return layers, lost + problems


def _parts(path: str) -> list[str]:
    parts = [part.strip() for part in path.lstrip("-").split(":" if ":" in path else ".")]
    return parts[1:] if len(parts) > 1 and parts[0].casefold() == ROOT.casefold() else parts


def _layers(root: type[Section], given: Sequence[_Given]) -> tuple[list[Layer], list[str]]:
    layers: list[Layer] = []
    problems: list[str] = []
    for name, parts, value in given:
        steps = list(_walk(root, parts))
        path = [key for key, _ in steps]
        lists = [n for n, (_, kind) in enumerate(steps[:-1], 1) if item_of(kind)]
        if lists:
            whole = written(path[: lists[0]])
            problems.append(f"{whole}: a list is given as a whole, as JSON: {whole}=[...] [{name}]")
        elif not all(path):
            problems.append(f"{written(path)}: a part of its name is empty [{name}]")
        else:
            layers.append(Layer(name, _nested(path, _value(steps[-1][1], value))))
    return layers, problems


def _walk(root: type[Section], parts: Sequence[str]) -> Iterator[tuple[str, Kind]]:
    """Each part as it is spelt in JSON, with the kind of value it names."""
    kind: Kind = root
    for part in parts:
        section = section_of(kind)
        key = spelled(section, part, any_case=True) if section else part
        kind = keys_of(section).get(key) if section else entry_of(kind)
        yield key, kind


def _nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    for part in reversed(path):
        value = {part: value}
    return dict(value)


def _value(kind: Kind, value: object) -> object:
    """A text read as JSON where it is JSON, but never as a number where a text is wanted."""
    if not isinstance(value, str):
        return value
    if value.lower() in {"true", "false"} and not takes_text(kind):
        return value.lower() == "true"
    try:
        parsed = strict_json(value)
    except ValueError:
        return value
    return value if takes_text(kind) and kind_of_json(parsed) in {"a number", "true or false"} else parsed
