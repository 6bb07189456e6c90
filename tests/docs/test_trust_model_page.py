"""The page about trust: the tests that it names exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "trust-model.md").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_item_of_the_threat_lists_names_a_test() -> None:
    page = (ROOT / "docs" / "trust-model.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if re.match(r"\| (?:LLM|ASI)\d\d ", line)]
    assert {found for row in rows for found in re.findall(r"(?:LLM|ASI)\d\d", row)} == {
        f"{kind}{number:02}" for kind in ("LLM", "ASI") for number in range(1, 11)
    }
    assert [row for row in rows if "`tests/" not in row.split("|")[3]] == []
