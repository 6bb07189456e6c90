"""Loading of settings from files, environment variables and the command line."""

import re
from collections.abc import Mapping, MutableSequence, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SettingsError
from sophon.settings.root import Settings, load_settings_type, validate_settings
from sophon.settings.saved_settings import SavedSettings
from sophon.settings.sources.json_files import read_settings_file
from sophon.settings.sources.layers import SettingsLayer, find_source, merge_layers, normalize_keys
from sophon.settings.sources.overrides import SettingOverrides, layers_from_environment, layers_from_pairs
from sophon.settings.types.json_type_checks import SettingPath
from sophon.settings.types.secret_references import resolve_file_paths
from sophon.settings.validation_errors import format_problem

SETTINGS_FILE_NAME = "appsettings.json"
ENVIRONMENT_VARIABLE = "SOPHON_ENVIRONMENT"


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, the layers that they come from, the one that wins last, and where the host saves its own."""

    settings: Settings
    layers: Sequence[SettingsLayer]
    saved: SavedSettings

    @property
    def saved_source(self) -> str:
        """Name of the layer of what the host saved."""
        return str(self.saved.file)

    def find_source(self, path: SettingPath) -> str | None:
        """Return the name of the source that sets a path; None for a default."""
        return find_source(self.layers, path)

    def with_saved(self, values: Mapping[str, Any]) -> "LoadedSettings":
        """Return the settings as they would be if the host had saved these values. Raises SettingsError."""
        layer = SettingsLayer(self.saved_source, resolve_file_paths(values, self.saved.file.parent))
        layers = [layer if each.source == self.saved_source else each for each in self.layers]
        return _validate(layers, self.saved)


def load_settings(
    *,
    folder: Path | None = None,
    file: Path | None = None,
    environment: Mapping[str, str],
    overrides: SettingOverrides = (),
) -> Settings:
    """Load `appsettings.json`, `appsettings.{SOPHON_ENVIRONMENT}.json`, what the host saved (`SavedSettings`),
    `environment` and `overrides`; later wins.

    The files are in `folder`, by default the working directory. `file` replaces `appsettings.json` and must exist; the
    environment's file is next to it (`my.json`, `my.Production.json`). Relative `{"$file": ...}` paths are relative to
    the folder of the files. Raises SettingsError with every problem, its path and its source.
    """
    return load_with_layers(folder=folder, file=file, environment=environment, overrides=overrides).settings


def load_with_layers(
    *,
    folder: Path | None = None,
    file: Path | None = None,
    environment: Mapping[str, str],
    overrides: SettingOverrides = (),
) -> LoadedSettings:
    """Load the settings as `load_settings` does; return them with the layers that they come from."""
    layers, saved, problems = _read_layers(folder, file, environment, overrides)
    return _validate(layers, saved, problems)


def load_valid_part(
    *,
    folder: Path | None = None,
    file: Path | None = None,
    environment: Mapping[str, str],
    overrides: SettingOverrides = (),
) -> tuple[Settings, list[str]]:
    """Load the settings as `load_settings` does, without those that are invalid; return them with its problems.

    Raises SettingsError if a file cannot be read, so that nothing is known of its settings.
    """
    layers, _, problems = _read_layers(folder, file, environment, overrides)
    merged = deepcopy(merge_layers(layers))
    settings, found = validate_settings(merged)
    # Not of the later rounds, in which what was removed is missing.
    problems = [*(_format_with_source(layers, path, sentence) for path, sentence in found), *problems]
    while settings is None:
        # The last items of a list first, so that the indexes of the others hold.
        paths = sorted(
            {path for path, _ in found}, key=lambda path: [str(part).zfill(9) for part in path], reverse=True
        )
        removed = [_remove(merged, path) for path in paths]
        if not any(removed):
            raise SettingsError(problems)
        settings, found = validate_settings(merged)
    return settings, problems


def _remove(values: Any, path: SettingPath) -> bool:
    """Remove the setting at a path, or the nearest one that holds it; return False if there is none."""
    if not path:
        return False
    part, rest = path[0], path[1:]
    if isinstance(values, dict):
        known = cast("dict[str, Any]", values)
        key = next((each for each in known if each.casefold() == str(part).casefold()), None)
        if key is None:
            return False
        if not rest or not _remove(known[key], rest):
            del known[key]
        return True
    if isinstance(values, list) and isinstance(part, int):
        items = cast("MutableSequence[Any]", values)
        if part < len(items):
            if not rest or not _remove(items[part], rest):
                del items[part]
            return True
    return False


def _read_layers(
    folder: Path | None, file: Path | None, environment: Mapping[str, str], overrides: SettingOverrides
) -> tuple[list[SettingsLayer], SavedSettings, list[str]]:
    base = file or (folder or Path()) / SETTINGS_FILE_NAME
    saved = SavedSettings(base.parent)
    files, file_problems = _read_files(base, environment.get(ENVIRONMENT_VARIABLE, ""), base_required=file is not None)
    try:
        files.append(read_settings_file(load_settings_type(), saved.file) or SettingsLayer(str(saved.file), {}))
    except SettingsError as error:
        file_problems += error.problems
    variables, variable_problems = layers_from_environment(load_settings_type(), environment)
    pairs, pair_problems = layers_from_pairs(load_settings_type(), overrides)
    if file_problems:
        raise SettingsError([*file_problems, *variable_problems, *pair_problems])
    layers = [
        *files,
        *(SettingsLayer(each.source, resolve_file_paths(each.values, base.parent)) for each in (*variables, *pairs)),
    ]
    return layers, saved, [*variable_problems, *pair_problems]


def _validate(
    layers: Sequence[SettingsLayer], saved: SavedSettings, other_problems: Sequence[str] = ()
) -> LoadedSettings:
    settings, problems = validate_settings(merge_layers(layers))
    found = [*(_format_with_source(layers, path, sentence) for path, sentence in problems), *other_problems]
    if settings is None or found:
        raise SettingsError(found)
    known = tuple(SettingsLayer(each.source, normalize_keys(load_settings_type(), each.values)) for each in layers)
    return LoadedSettings(settings, known, saved)


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
            layer = read_settings_file(load_settings_type(), path, required=required)
        except SettingsError as error:
            problems.extend(error.problems)
        else:
            layers.extend([layer] if layer else [])
    return layers, problems


def _format_with_source(layers: Sequence[SettingsLayer], path: SettingPath, sentence: str) -> str:
    source = find_source(layers, path) or find_source(layers, path[:-1])
    return f"{format_problem(path, sentence)} [{source}]" if source and path else format_problem(path, sentence)
