"""`sophon migrate --check` and `--schema`: versions of the store's schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sophon.stores.sql.schema_migration import newest_version
from tests.databases import copy_database
from tests.sophon.stores.sql.next_version import NEXT, know_next_version

Command = Callable[..., Any]


def test_a_current_schema_needs_nothing(sophon: Command, folder: Path) -> None:
    copy_database(folder)
    shown = sophon("migrate", "--check")
    assert shown.code == 0
    newest = newest_version()
    assert shown.out.strip() == f"schema of the store: {newest}, of this Sophon: {newest}; it is up to date"


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_an_older_schema_is_shown_and_only_then_migrated(
    sophon: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    copy_database(folder)
    older = newest_version()
    know_next_version(folder, monkeypatch)
    for _ in range(2):  # a check changes nothing
        shown = sophon("migrate", "--json", *options)
        assert shown.code == 3
        assert json.loads(shown.out) == {"stored": older, "known": NEXT, "is_current": False}
    assert "is to be migrated: sophon migrate --schema" in sophon("migrate", *options).out
    assert sophon("migrate", "--schema").code == 0
    assert sophon("migrate", "--check").code == 0


def test_a_store_that_does_not_exist_yet_is_made(sophon: Command, folder: Path) -> None:
    shown = sophon("migrate", "--check")
    assert (shown.code, "none" in shown.out) == (3, True)
    assert not (folder / "data" / "sophon.db").exists()
    assert sophon("migrate", "--schema").code == 0
    assert (folder / "data" / "sophon.db").exists()


@pytest.mark.parametrize("options", [["--force"], ["--check", "--force"], ["--schema", "--check"]])
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
