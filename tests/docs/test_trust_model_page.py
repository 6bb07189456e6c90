"""The page about trust: the tests that it names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "trust-model.md").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
