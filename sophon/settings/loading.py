"""Settings from all their places: files, environment variables and the command line."""

import re
from collections.abc import Mapping
from pathlib import Path

from sophon.errors import SettingsError
from sophon.settings.layers import Layer, Place, merged, source_of
from sophon.settings.overrides import Overrides, from_environment, from_pairs
from sophon.settings.report import line
from sophon.settings.schema import Settings, checked
from sophon.settings.secrets import anchored
from sophon.settings.sources import read_layer

FILE_NAME = "appsettings.json"
ENVIRONMENT = "SOPHON_ENVIRONMENT"


def load_settings(
    *,
    folder: Path | None = None,
    file: Path | None = None,
    environment: Mapping[str, str],
    overrides: Overrides = (),
) -> Settings:
    """Read `appsettings.json`, `appsettings.{SOPHON_ENVIRONMENT}.json`, `environment` and `overrides`; later wins.

    The files lie in `folder`, by default the working directory. `file` stands for `appsettings.json` and then has to
    exist; the one of the environment lies beside it (`my.json`, `my.Production.json`). Relative `{"$file": ...}` paths
    count from the folder of the files. Raises SettingsError with every problem, its path and its source.
    """
    base = file or (folder or Path()) / FILE_NAME
    files, broken = _files(base, environment.get(ENVIRONMENT, ""), named=file is not None)
    variables, wrong = from_environment(Settings, environment)
    pairs, lost = from_pairs(Settings, overrides)
    if broken:
        raise SettingsError([*broken, *wrong, *lost])
    layers = [*files, *(Layer(each.source, anchored(each.values, base.parent)) for each in (*variables, *pairs))]
    settings, problems = checked(merged(layers))
    found = [*(_with_source(layers, place, sentence) for place, sentence in problems), *wrong, *lost]
    if settings is None or found:
        raise SettingsError(found)
    return settings


def _files(base: Path, name: str, *, named: bool) -> tuple[list[Layer], list[str]]:
    layers: list[Layer] = []
    problems: list[str] = []
    if name and not re.fullmatch(r"[\w-][\w.-]*", name):
        return [], [f"{ENVIRONMENT}: {name!r} is not a name for an environment; use letters, digits, dot, dash"]
    candidates = [(base, named)] + ([(base.with_name(f"{base.stem}.{name}{base.suffix}"), False)] if name else [])
    for path, needed in candidates:
        try:
            layer = read_layer(Settings, path, named=needed)
        except SettingsError as error:
            problems.extend(error.problems)
        else:
            layers.extend([layer] if layer else [])
    return layers, problems


def _with_source(layers: list[Layer], place: Place, sentence: str) -> str:
    source = source_of(layers, place) or source_of(layers, place[:-1])
    return f"{line(place, sentence)} [{source}]" if source and place else line(place, sentence)
