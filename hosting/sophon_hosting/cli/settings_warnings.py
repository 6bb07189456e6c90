"""Warnings about dangerous settings: on the terminal and in the log, for the commands that load the settings."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from sophon.settings import Settings
from sophon.vault import CredentialVault
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.dangerous_settings.catalog import DangerousSetting
from sophon_hosting.dangerous_settings.finder import find_dangerous_settings

log = logging.getLogger("sophon")

TRUST_MODEL = "docs/trust-model.md"
"""The page that says who is trusted with what."""


def find_settings_warnings(
    settings: Settings, options: GlobalOptions, environment: Mapping[str, str]
) -> list[DangerousSetting]:
    """Return the dangerous settings on this machine."""
    return find_dangerous_settings(settings, folder=options.settings_folder, home=_find_home(), environment=environment)


def report_startup_warnings(settings: Settings, options: GlobalOptions, environment: Mapping[str, str]) -> list[str]:
    """Return the warnings of a start as lines of the terminal: dangerous settings, and what is missing.

    Each of them goes to the log, too, because a service has no other reader.
    """
    warnings = find_settings_warnings(settings, options, environment)
    missing = find_missing(settings, options, environment)
    for each in warnings:
        log.warning("dangerous setting: %s; %s", each, each.fix)
    for line in missing:
        log.warning("%s", line)
    return [*warning_lines(warnings), *missing_lines(missing)]


def find_missing(settings: Settings, options: GlobalOptions, environment: Mapping[str, str]) -> list[str]:
    """Return a line for each path of the sandbox and each secret of the vault that is missing."""
    secrets = [
        f"Vault.{each.name}.Secret: {settings.vault[each.name].secret.source_description}: {each.problem}; "
        "requests to its hosts fail"
        for each in CredentialVault(settings.vault, environment).credentials
        if each.problem
    ]
    return [*find_missing_paths(settings, options), *secrets]


def find_missing_paths(settings: Settings, options: GlobalOptions) -> list[str]:
    """Return a line for each path that the sandbox shows to commands and that does not exist."""
    sandbox = settings.guards.sandbox
    chosen = (("Readable", sandbox.readable), ("Writable", sandbox.writable)) if sandbox.enabled else ()
    return [
        f"Guards.Sandbox.{name}[{index}]: {path} does not exist; every command fails until it does"
        for name, found in chosen
        for index, path in enumerate(found)
        if not _exists(options.settings_folder / path.expanduser())
    ]


def missing_lines(missing: Sequence[str]) -> list[str]:
    """Return what is missing as lines of the terminal."""
    return [f"  WARNING {each}" for each in missing]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def warning_lines(warnings: Sequence[DangerousSetting]) -> list[str]:
    """Return the warnings as lines of the terminal, none without a warning."""
    lines = [f"  WARNING {each}" for each in warnings]
    return [*lines, f"  {TRUST_MODEL} explains who is trusted with what."] if lines else []


def _find_home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # an account without a home directory
        return None
