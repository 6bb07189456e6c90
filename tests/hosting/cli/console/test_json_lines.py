"""JSON lines of exports and imports."""

from pathlib import Path

import pytest

from sophon.errors import InputError
from sophon_hosting.cli.console.json_lines import read_json_lines, write_json_lines


def test_a_half_of_a_surrogate_pair_is_written_and_comes_back(tmp_path: Path) -> None:
    items = [{"text": "half \ud83d of it"}, {"text": "whole"}]
    write_json_lines(items, tmp_path / "items.jsonl", what="items")
    assert read_json_lines(tmp_path / "items.jsonl") == items


@pytest.mark.parametrize("line", ["{", "[" * 100_000, "\\ud83d"])
def test_a_line_that_is_no_json_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(f"1\n{line}")
    with pytest.raises(InputError, match="line 2: not JSON"):
        read_json_lines(tmp_path / "items.jsonl")
