"""docs/coverage.md names an existing test for each statement and each feature, or why it is declined."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
FEATURES = 229
MAX_DECLINED = 12
DECLINED = "declined:"


def list_rows() -> Iterator[tuple[str, list[str]]]:
    """Yield the heading above each row of a table, and its cells."""
    heading = ""
    for line in PAGE.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|") and not line.startswith(("|---", "| statement", "| # ")):
            yield heading, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


ROWS = list(list_rows())


def test_every_feature_has_one_row() -> None:
    numbers = [int(cells[0]) for _, cells in ROWS if cells[0].isdigit()]
    assert sorted(numbers) == list(range(1, FEATURES + 1))


@pytest.mark.parametrize(("heading", "cells"), ROWS, ids=[f"{heading}-{cells[0]}"[:60] for heading, cells in ROWS])
def test_every_row_names_a_test_that_exists_or_why_it_is_declined(heading: str, cells: list[str]) -> None:
    if cells[-1].startswith(DECLINED):
        assert len(cells[-1]) > len(DECLINED) + 20, "a reason is a sentence"
        return
    named = re.findall(r"`(tests/[\w/.]+\.py)(?:::(\w+))?`", cells[-1])
    assert named, f"{heading}: {cells}"
    for path, test in named:
        file = ROOT / path
        assert file.is_file(), path
        assert not test or f"def {test}(" in file.read_text(encoding="utf-8"), f"{path}::{test}"


def test_few_features_are_declined() -> None:
    assert sum(cells[-1].startswith(DECLINED) for _, cells in ROWS) <= MAX_DECLINED
