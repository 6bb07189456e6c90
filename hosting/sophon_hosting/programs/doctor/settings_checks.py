"""Checks of `sophon doctor` on the settings: their files, each problem with them, and those that are dangerous."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from sophon.errors import SettingsError
from sophon.settings import Settings
from sophon.settings.loader import ENVIRONMENT_VARIABLE, SETTINGS_FILE_NAME
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.settings_warnings import find_settings_warnings
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning

FILE_FIX = "correct the file: readable UTF-8 text with one JSON object, without comments and trailing commas"


def check_settings_files(options: GlobalOptions, environment: Mapping[str, str]) -> DoctorFinding:
    """Report which settings files exist; fail if the file given with --settings does not."""
    paths = _settings_paths(options, environment)
    if options.settings_file is not None and not paths[0].exists():
        text = f"{paths[0]}: there is no such file"
        return failed("settings.files", text, "correct --settings, or omit it for the defaults")
    found = [str(path) for path in paths if path.exists()]
    return ok("settings.files", f"read from {', '.join(found)}" if found else f"no {paths[0]}; using the defaults")


def findings_from_settings_error(
    error: SettingsError, options: GlobalOptions, environment: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """Yield one failed finding per problem with the settings; the fix of an unusable file is that of the file."""
    files = tuple(f"{path}: " for path in _settings_paths(options, environment))
    for problem in error.problems:
        fix = FILE_FIX if problem.startswith(files) else "correct it; `sophon config schema` lists all settings"
        yield failed("settings", problem, fix)


def check_dangerous_settings(
    settings: Settings, options: GlobalOptions, environment: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    """Report each setting that permits more than most people want, by the id of `sophon audit settings`."""
    for each in find_settings_warnings(settings, options, environment):
        yield warning(each.id, str(each), each.fix)


def _settings_paths(options: GlobalOptions, environment: Mapping[str, str]) -> list[Path]:
    """Return the settings files that are read: the base file, then that of the environment if one is named."""
    base = options.settings_file or options.settings_folder / SETTINGS_FILE_NAME
    name = environment.get(ENVIRONMENT_VARIABLE, "")
    return [base, *([base.with_name(f"{base.stem}.{name}{base.suffix}")] if name else [])]
