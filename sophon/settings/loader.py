"""Loading of settings from files, environment variables and the command line."""

import re
from collections.abc import Mapping
from pathlib import Path

from sophon.errors import SettingsError
from sophon.settings.root import Settings, validate_settings
from sophon.settings.sources.command_line import SettingOverrides, layers_from_pairs
from sophon.settings.sources.environment import layers_from_environment
from sophon.settings.sources.json_files import read_settings_file
from sophon.settings.sources.layers import SettingsLayer, find_source, merge_layers
from sophon.settings.types.json_types import SettingPath
from sophon.settings.types.secret_references import resolve_file_paths
from sophon.settings.validation_errors import format_problem

SETTINGS_FILE_NAME = "appsettings.json"
ENVIRONMENT_VARIABLE = "SOPHON_ENVIRONMENT"


def load_settings(
    *,
    folder: Path | None = None,
    file: Path | None = None,
    environment: Mapping[str, str],
    overrides: SettingOverrides = (),
) -> Settings:
    """Load `appsettings.json`, `appsettings.{SOPHON_ENVIRONMENT}.json`, `environment` and `overrides`; later wins.

    The files are in `folder`, by default the working directory. `file` replaces `appsettings.json` and must exist; the
    environment's file is next to it (`my.json`, `my.Production.json`). Relative `{"$file": ...}` paths are relative to
    the folder of the files. Raises SettingsError with every problem, its path and its source.
    """
    base = file or (folder or Path()) / SETTINGS_FILE_NAME
    files, file_problems = _read_files(base, environment.get(ENVIRONMENT_VARIABLE, ""), base_required=file is not None)
    variables, variable_problems = layers_from_environment(Settings, environment)
    pairs, pair_problems = layers_from_pairs(Settings, overrides)
    if file_problems:
        raise SettingsError([*file_problems, *variable_problems, *pair_problems])
    layers = [
        *files,
        *(SettingsLayer(each.source, resolve_file_paths(each.values, base.parent)) for each in (*variables, *pairs)),
    ]
    settings, problems = validate_settings(merge_layers(layers))
    found = [
        *(_format_with_source(layers, path, sentence) for path, sentence in problems),
        *variable_problems,
        *pair_problems,
    ]
    if settings is None or found:
        raise SettingsError(found)
    return settings


def _read_files(base: Path, name: str, *, base_required: bool) -> tuple[list[SettingsLayer], list[str]]:
    layers: list[SettingsLayer] = []
    problems: list[str] = []
    if name and not re.fullmatch(r"[\w-][\w.-]*", name):
        return [], [
            f"{ENVIRONMENT_VARIABLE}: {name!r} is not a name for an environment; use letters, digits, dot, dash"
        ]
    candidates = [(base, base_required)] + (
        [(base.with_name(f"{base.stem}.{name}{base.suffix}"), False)] if name else []
    )
    for path, required in candidates:
        try:
            layer = read_settings_file(Settings, path, required=required)
        except SettingsError as error:
            problems.extend(error.problems)
        else:
            layers.extend([layer] if layer else [])
    return layers, problems


def _format_with_source(layers: list[SettingsLayer], path: SettingPath, sentence: str) -> str:
    source = find_source(layers, path) or find_source(layers, path[:-1])
    return f"{format_problem(path, sentence)} [{source}]" if source and path else format_problem(path, sentence)
