"""Warnings about dangerous settings: on the terminal and in the log, for the commands that load the settings."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from sophon.settings import DangerousSetting, Settings, find_dangerous_settings, has_several_users
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.migration.principal_migration import has_shared_data

log = logging.getLogger("sophon")

TRUST_MODEL = "docs/trust-model.md"
"""The page that says who is trusted with what."""


def find_settings_warnings(
    settings: Settings, options: GlobalOptions, environment: Mapping[str, str]
) -> list[DangerousSetting]:
    """Return the dangerous settings on this machine."""
    return find_dangerous_settings(settings, folder=options.settings_folder, home=_find_home(), environment=environment)


def report_startup_warnings(settings: Settings, options: GlobalOptions, environment: Mapping[str, str]) -> list[str]:
    """Return the warnings of a start as lines of the terminal: dangerous settings, and data of an earlier version.

    Each of them goes to the log, too, because a service has no other reader.
    """
    warnings, notice = find_settings_warnings(settings, options, environment), find_migration_notice(settings, options)
    for each in warnings:
        log.warning("dangerous setting: %s; %s", each, each.fix)
    if notice:
        log.warning("%s", notice)
    return [*warning_lines(warnings), *([f"  {notice}"] if notice else [])]


def warning_lines(warnings: Sequence[DangerousSetting]) -> list[str]:
    """Return the warnings as lines of the terminal, none without a warning."""
    lines = [f"  WARNING {each}" for each in warnings]
    return [*lines, f"  {TRUST_MODEL} explains who is trusted with what."] if lines else []


def find_migration_notice(settings: Settings, options: GlobalOptions) -> str:
    """Return the notice that data of an earlier version belongs to nobody in particular, "" if there is none.

    Without users and channels the only user, the local one, has it anyway.
    """
    root = options.settings_folder / settings.tools.files_root
    shared = (settings.hub.users or has_several_users(settings)) and has_shared_data(
        root, [user.id for user in settings.hub.users]
    )
    return f"{root} or the store holds data that no user sees yet: `sophon migrate` shows whose it is" if shared else ""


def _find_home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # an account without a home directory
        return None
