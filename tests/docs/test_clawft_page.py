"""docs/clawft.md: each constant of its tables is the default of the setting, or the value of the name, beside it."""

import importlib
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon.security.authorization.permission_levels import Level
from sophon.settings import Settings
from sophon.settings.sections.permissions import LEVEL_TIERS

PAGE = (Path(__file__).parents[2] / "docs" / "clawft.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+?) \| `(.+?)` \| `([\w.]+)` \|$", PAGE, re.MULTILINE)
LEVELS = re.findall(r"^\| (ZeroTrust|User|Admin) \| (.+) \|$", PAGE, re.MULTILINE)


def read(path: str) -> Any:
    """Return the value of a Python name, or the default of a setting; durations in seconds."""
    if path.startswith("sophon."):
        module, name = path.rsplit(".", 1)
        return getattr(importlib.import_module(module), name)
    value: Any = Settings.from_mapping({})
    for part in path.split("."):
        value = getattr(value, re.sub(r"(?<!^)(?=[A-Z])", "_", part).lower())
    if isinstance(value, timedelta):
        return value.total_seconds()
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize(("what", "value", "path"), ROWS, ids=[path for _, _, path in ROWS])
def test_a_constant_is_what_the_page_says(what: str, value: str, path: str) -> None:
    assert read(path) == json.loads(value), what


def test_the_tables_are_found() -> None:
    assert len(ROWS) == 27
    assert len(LEVELS) == 3


@pytest.mark.parametrize(("label", "cells"), LEVELS)
def test_a_level_may_what_the_page_says(label: str, cells: str) -> None:
    tier, tokens, day, month, escalation, threshold = (each.strip("` ") for each in cells.split("|"))
    level = next(each for each in Level if each.label == label)
    found = Settings.from_mapping({}).permissions.routing_of("ada", level, uses_tiers=True)
    assert LEVEL_TIERS[level] == tier
    assert found.max_output_tokens == int(tokens)
    assert [found.daily_cost, found.monthly_cost] == [None if x == "unlimited" else float(x) for x in (day, month)]
    assert found.may_escalate == (escalation == "yes")
    assert not threshold or found.escalation_threshold == float(threshold)
