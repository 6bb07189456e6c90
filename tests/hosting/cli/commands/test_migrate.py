"""`sophon migrate --check` and `--schema`: versions of the store's schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon.stores.sql.schema_migration import REVISIONS
from tests.databases import copy_database
from tests.sophon.stores.sql.test_schema_migration import migrate

Command = Callable[..., Any]


def test_a_current_schema_needs_nothing(sophon: Command, folder: Path) -> None:
    copy_database(folder)
    shown = sophon("migrate", "--check")
    assert shown.code == 0
    assert (
        shown.out.strip() == f"schema of the store: {REVISIONS[-1]}, of this Sophon: {REVISIONS[-1]}; it is up to date"
    )


def test_an_older_schema_is_shown_and_migrated(sophon: Command, folder: Path) -> None:
    copy_database(folder)
    migrate(folder / "data" / "sophon.db", REVISIONS[-2], down=True)
    for _ in range(2):  # a check changes nothing
        shown = sophon("migrate", "--check", "--json")
        assert shown.code == 3
        assert json.loads(shown.out) == {"stored": REVISIONS[-2], "known": REVISIONS[-1], "is_current": False}
    assert sophon("migrate", "--schema").code == 0
    assert sophon("migrate", "--check").code == 0


def test_a_store_that_does_not_exist_yet_is_made(sophon: Command, folder: Path) -> None:
    shown = sophon("migrate", "--check")
    assert (shown.code, "none" in shown.out) == (3, True)
    assert not (folder / "data" / "sophon.db").exists()
    assert sophon("migrate", "--schema").code == 0
    assert (folder / "data" / "sophon.db").exists()


@pytest.mark.parametrize("options", [["--force"], ["--schema", "--apply"], ["--schema", "--set-aside"]])
def test_options_that_do_not_go_together_are_refused(sophon: Command, options: list[str]) -> None:
    shown = sophon("migrate", *options)
    assert shown.code != 0
    assert "--schema" in shown.err


def test_a_store_that_cannot_be_reached_is_told_from_one_to_migrate(sophon: Command, folder: Path) -> None:
    settings = {"Sophon": {"Store": {"Url": "postgresql://nobody@127.0.0.1:1/nothing"}}}
    (folder / "appsettings.json").write_text(json.dumps(settings))
    shown = sophon("migrate", "--check")
    assert (shown.code, shown.out) == (1, "")
    assert "postgresql://***@127.0.0.1:1/nothing" in shown.err


def test_without_an_option_nothing_is_migrated(sophon: Command, folder: Path) -> None:
    copy_database(folder)
    migrate(folder / "data" / "sophon.db", REVISIONS[-2], down=True)
    for _ in range(2):
        shown = sophon("migrate")
        assert (shown.code, "is to be migrated: sophon migrate --schema" in shown.out) == (3, True)
