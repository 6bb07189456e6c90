"""Boosters of the settings: functions of the user that answer a message without a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from sophon.errors import SettingsError
from sophon.plugins.import_paths import import_user_object
from sophon.routing.contract import Booster

SETTING = "Routing.Boosters"


def import_boosters(paths: Sequence[str], *, folder: Path) -> list[Booster]:
    """Return the functions, in their order. Raises SettingsError with all problems."""
    problems: list[str] = []
    found: list[Booster] = []
    for path in paths:
        try:
            booster = import_user_object(path, setting=SETTING, folder=folder)
        except SettingsError as error:
            problems += error.problems
            continue
        if callable(booster):
            found.append(cast(Booster, booster))
        else:
            problems.append(f"{SETTING}: {path!r} is not a function")
    if problems:
        raise SettingsError(problems)
    return found
